"""The run for the summary of a GitHub Actions step: at most 1024 KiB, or GitHub drops all of it."""

from typing import Final

from critests.catalogue.words import Outcome
from critests.report.facts.changes import changes
from critests.report.facts.selection import by_reason, failures, with_outcome
from critests.report.formats import run_markdown as parts
from critests.report.formats.source import Source
from critests.report.wording.markdown import Page, code, prose, table
from critests.report.wording.texts import plural

LIMIT: Final = 960 * 1024
"""Bytes. A step may append more than once; what others append needs some room too."""
ROWS: Final = 200


def render(source: Source) -> str:
    """Return the Markdown."""
    record = source.record
    page = Page(LIMIT)
    page.add(f"### {parts.headline(record)}", "", *parts.facts(record, source.publishing.url))
    if source.baseline:
        found = changes(source.baseline, record)
        page.add_table(f"New failures ({len(found.broken)})", parts.test_changes(found.broken, ROWS))
        page.add_table(f"Lost ({len(found.lost)})", parts.test_changes(found.lost, ROWS))
        page.add_table("Capabilities that changed", parts.capability_changes(found))
        page.add_table("Operations that changed", parts.operation_changes(found))
    if record.tests:
        page.add_table("Tests", parts.areas(record))
    causes = [
        [
            code(cause.requirement, 40),
            code(cause.rpc, 60),
            str(len(cause.blocked)),
            str(len(cause.failed)),
            code(cause.reason, 240),
        ]
        for cause in record.root_causes
    ]
    page.add_table(
        "Root causes", table(["requirement", "RPC", "blocks", "fails too", "reason"], causes[:ROWS])
    )
    broken = failures(record)
    page.add_table(f"Failures ({len(broken)})", parts.tests(broken, ROWS, repeat=True))
    warned = with_outcome(record, Outcome.WARNED)
    page.add_table(f"Warnings ({len(warned)})", parts.tests(warned, ROWS, repeat=True))
    headlines = [operation for operation in record.operations if operation.headline]
    page.add_table("What was measured", parts.operations(headlines or record.operations))
    if headlines and len(headlines) < len(record.operations):
        rest = [operation for operation in record.operations if not operation.headline]
        page.add_table(f"{plural(len(rest), 'more operation')}", parts.operations(rest), folded=True)
    for title, outcome in (
        ("Known failures", Outcome.KNOWN),
        ("Blocked", Outcome.BLOCKED),
        ("Unsupported", Outcome.UNSUPPORTED),
    ):
        reasons = by_reason(with_outcome(record, outcome))
        rows = [[code(reason.text, 240), str(len(reason.tests))] for reason in reasons[:ROWS]]
        number = sum(len(reason.tests) for reason in reasons)
        page.add_table(f"{title} ({number})", table(["reason", "tests"], rows, right=1), folded=True)
    capabilities = [
        [prose(fact.name, 80), parts.WORDS[fact.present], code(fact.evidence, 160)]
        for fact in record.capabilities
    ]
    page.add_table("Capabilities", table(["capability", "offered", "seen"], capabilities), folded=True)
    if record.notes:
        page.add("", *(f"- {prose(note, 500)}" for note in record.notes[:ROWS]))
    return page.text()
