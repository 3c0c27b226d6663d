"""Everything that is derived from a run record: summaries, pages, formats of others, comparisons.

Nothing here knows gRPC or pytest. What containers and runtimes print is hostile text: see
`critests.report.wording.texts`. The layers are described in `docs/architecture.md`.
"""
