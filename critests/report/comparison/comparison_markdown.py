"""A comparison as Markdown, for a pull request or an issue."""

from collections.abc import Iterator
from typing import Final

from critests.report.comparison.answers import FEW, AnswerRow, answer_rows, headline, heads, shown_rows
from critests.report.comparison.model import RunComparison
from critests.report.comparison.names import names_of
from critests.report.comparison.sections import Section, SectionRow, below_the_table, sections
from critests.report.wording.markdown import prose, table

LISTED: Final = 40
"""Rows of a section; further rows are counted."""
_PROVEN: Final = frozenset({"slower", "faster", "worse", "better"})


def comparison_to_markdown(comparison: RunComparison) -> str:
    """Return the comparison in GitHub's Markdown; texts of runtimes are escaped."""
    lines = [f"## {prose(comparison.a.name)} compared with {prose(comparison.b.name)}", ""]
    lines += answers_in_markdown(comparison)
    lines += ["", "<details><summary>All that was measured and judged</summary>"]
    for section in sections(comparison):
        lines += ["", f"### {prose(section.title)}", *_body(section)]
    return "\n".join([*lines, "", "</details>"]) + "\n"


def answers_in_markdown(comparison: RunComparison) -> list[str]:
    """Return the headline, the table and the lines below it."""
    names, rows = names_of(comparison.a, comparison.b), answer_rows(comparison)
    cells = [
        [
            prose(row.question, 500),
            prose(row.a),
            prose(row.b),
            prose(row.verdict, 500),
        ]
        for row in shown_rows(rows)
    ]
    return [
        prose(headline(rows), 1000),
        "",
        *table([*map(prose, heads(names))], cells, right=2),
        *(line for row in rows for line in _broken(row)),
        *(line for text in below_the_table(comparison) for line in ("", prose(text, 1000))),
    ]


def _broken(row: AnswerRow) -> Iterator[str]:
    """Yield the MUSTs that are not passed; a long list is folded."""
    for group in row.broken:
        head = f"{prose(group.where)} ({len(group.promises)})"
        folded = len(group.promises) > FEW
        yield from ("", f"<details><summary>{head}</summary>" if folded else f"{head}:", "")
        yield from (f"- **{prose(name)}** {prose(promise, 500)}" for name, promise in group.promises)
        if folded:
            yield from ("", "</details>")


def _body(section: Section) -> Iterator[str]:
    rows = section.rows[:LISTED]
    if section.intro:
        yield from ("", prose(section.intro, 600))
    yield ""
    if section.heads:
        why = any(any(row.below) for row in rows)
        heads = [prose(head) for head in section.heads] + [""] * why
        yield from table(
            heads, [_cells(row) + [prose("; ".join(row.below))] * why for row in rows], right=section.numbers
        )
    else:
        yield from (f"- {prose(row.cells[0], 1000)}" for row in rows)
    if len(section.rows) > len(rows):
        yield from ("", f"… and {len(section.rows) - len(rows)} more.")
    if section.outro:
        yield from ("", prose(section.outro, 600))


def _cells(row: SectionRow) -> list[str]:
    return [f"**{text}**" if text in _PROVEN else prose(text) for text in row.cells]
