"""The details of a comparison below its table, which the terminal and Markdown render. The HTML page shows
more and has a template.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from critests.report.comparison.comparison_sentences import (
    method_sentence,
    undecided,
    verdict_text,
    why,
)
from critests.report.comparison.differences import Conformance, RequirementDifference
from critests.report.comparison.fairness import environment_facts, shared_environment, warning
from critests.report.comparison.model import Operation, RunComparison, Speed
from critests.report.comparison.names import Names, names_of
from critests.report.comparison.wording import amount, error_words, interval, ratio
from critests.report.wording.texts import plural, utc_time

PRESENCE: Final = {True: "yes", False: "no", None: "unknown"}


@dataclass(frozen=True)
class SectionRow:
    """One row.

    Attributes:
        cells: Its texts; the first one is its label.
        below: Explanations, one line each.
    """

    cells: tuple[str, ...]
    below: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Section:
    """A table, or a list of lines.

    Attributes:
        title: Title.
        intro: Text above the rows, or empty.
        heads: Names of the columns; none for a list.
        numbers: Number of numeric columns, counted from the second.
        rows: The rows, most important first.
        whole: The terminal shows all rows.
        outro: Text below the rows, or empty.
    """

    title: str
    intro: str = ""
    heads: tuple[str, ...] = ()
    numbers: int = 0
    rows: list[SectionRow]
    whole: bool = False
    outro: str = ""


def below_the_table(comparison: RunComparison) -> list[str]:
    """Return the sentences below the table: what differs besides the runtimes, and caveats."""
    names = names_of(comparison.a, comparison.b)
    lines = [warning(comparison, names.a, names.b), shared_environment(comparison)]
    if comparison.speed is not None and comparison.speed.refused:
        lines.append(f"Speed is not compared: {comparison.speed.refused}.")
    return [*filter(None, lines), *comparison.notes]


def sections(comparison: RunComparison) -> Iterator[Section]:
    """Return the details; sections without rows are left out."""
    names = names_of(comparison.a, comparison.b)
    environment = [
        SectionRow((each.name, each.a or "not recorded", each.b or "not recorded"))
        for each in environment_facts(comparison)
    ]
    rows = [*sides(comparison), *environment]
    yield Section(title="Both sides", heads=("", names.a, names.b), rows=rows, whole=True)
    found: list[Section] = []
    if comparison.speed is not None and not comparison.speed.refused:
        found += _speed(comparison, comparison.speed, names)
    if comparison.conformance is not None:
        found += _conformance(comparison.conformance, names)
    yield from (section for section in found if section.rows or section.outro)


def sides(comparison: RunComparison) -> list[SectionRow]:
    """Return the facts about both sides, and how the machines differ."""
    a, b = comparison.a, comparison.b
    rows = [
        ("runtime", a.name, b.name),
        ("run", *(f"{side.kind} {side.run_id}, {utc_time(side.started)}" for side in (a, b))),
        ("suite", *(f"critests {side.suite_version}" for side in (a, b))),
    ]
    if a.partial or b.partial:
        rows.append(("scope", a.scope, b.scope))
    rows += [(each.name, each.a, each.b) for each in comparison.machines.differences]
    return [SectionRow(cells) for cells in rows]


def _speed(comparison: RunComparison, speed: Speed, names: Names) -> Iterator[Section]:
    yield Section(
        title="Speed",
        intro=method_sentence(comparison),
        heads=("operation", names.a, names.b, "ratio", "interval", f"{names.b} is"),
        numbers=4,
        rows=[_operation(each, comparison, names) for each in speed.operations],
        whole=True,
    )
    left = [SectionRow((f"{', '.join(operations)}: {reason}",)) for reason, operations in undecided(speed)]
    yield Section(title="Not decided", rows=left)
    for name, unpaired in ((names.a, speed.only_a), (names.b, speed.only_b)):
        yield _listed(f"Measured on {name} only", [each.label for each in unpaired])
    failing = [each for each in speed.operations if each.a.failed or each.b.failed]
    yield Section(
        title=f"Failed calls ({plural(len(failing), 'operation')})",
        heads=("operation", names.a, names.b),
        rows=[
            SectionRow(
                (
                    each.label,
                    *(error_words(side.failed, side.calls, side.errors) for side in (each.a, each.b)),
                )
            )
            for each in failing
        ],
    )


def _operation(each: Operation, comparison: RunComparison, names: Names) -> SectionRow:
    reason = why(each, names)
    cells = (
        each.label,
        amount(each.a.value, each.unit),
        amount(each.b.value, each.unit),
        ratio(each.ratio),
        interval(each.low, each.high) or "·",
        verdict_text(each, comparison),
    )
    return SectionRow(cells, (reason,) if reason else ())


def _conformance(conformance: Conformance, names: Names) -> Iterator[Section]:
    for group, members in conformance.grouped().items():
        absent = [each.requirement for each in members if each.not_run]
        yield Section(
            title=f"{names.heading(group)} ({len(members)})",
            heads=("requirement", names.a, names.b),
            rows=[_requirement(each) for each in members if not each.not_run],
            outro=f"not tested on that side: {', '.join(absent)}" if absent else "",
        )
    differing = [pair for pair in conformance.forms if pair.differ]
    yield Section(
        title=f"Different choices where the API leaves one ({len(differing)} of {len(conformance.forms)})",
        heads=("aspect", names.a, names.b),
        rows=[SectionRow((pair.aspect, pair.a, pair.b)) for pair in differing],
    )
    yield Section(
        title=f"Capabilities ({len(conformance.capabilities)})",
        heads=("capability", names.a, names.b),
        rows=[
            SectionRow(
                (each.name, PRESENCE[each.a], PRESENCE[each.b]),
                (each.evidence_a if each.b else each.evidence_b,),
            )
            for each in conformance.capabilities
        ],
    )
    for name, tests in ((names.a, conformance.tests_only_a), (names.b, conformance.tests_only_b)):
        yield _listed(f"Tests of {name} only", tests)


def _requirement(each: RequirementDifference) -> SectionRow:
    below = tuple(
        f"{aspect.aspect} {aspect.level}{' †' if aspect.judgement else ''}: {aspect.a} / {aspect.b}"
        + (f"  {aspect.why}" if aspect.why else "")
        for aspect in each.aspects
        if aspect.aspect != each.requirement or aspect.why
    )
    return SectionRow((f"{each.requirement}  {each.title}", each.a, each.b), below)


def _listed(title: str, texts: list[str]) -> Section:
    return Section(title=f"{title} ({len(texts)})", rows=[SectionRow((text,)) for text in texts])
