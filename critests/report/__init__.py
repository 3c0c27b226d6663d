"""Everything that is derived from a run record: the terminal summary, live progress, JUnit, the HTML page.

Nothing here knows gRPC or pytest. What containers and runtimes print is hostile text: see
`critests.report.texts`.
"""
