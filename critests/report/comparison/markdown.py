"""A comparison as Markdown, for a pull request or an issue."""

import re
from typing import Final

from critests.report.comparison.differences import Conformance
from critests.report.comparison.fairness import beside, warning
from critests.report.comparison.model import Operation, RunComparison, SideFacts, Speed
from critests.report.comparison.names import Names, names_of
from critests.report.comparison.summary import (
    conformance_sentence,
    method_sentence,
    speed_sentence,
    too_noisy,
    verdict_text,
    why,
)
from critests.report.comparison.wording import (
    amount,
    error_words,
    interval,
    operation_label,
    ratio,
)
from critests.report.wording.texts import moment, one_line
from critests.statistics import Verdict

LISTED: Final = 40
"""Rows of each table; the rest is counted."""
_ACTIVE: Final = re.compile(r"([\\`*_{}\[\]()<>#+!|~@&$])")


def comparison_to_markdown(comparison: RunComparison) -> str:
    """Return the comparison in GitHub's Markdown; nothing that a runtime said is acted upon."""
    names = names_of(comparison.a, comparison.b)
    lines = [f"## {text(comparison.a.name)} beside {text(comparison.b.name)}", ""]
    told = (speed_sentence(comparison), conformance_sentence(comparison), warning(comparison, names))
    for sentence in (*told, *comparison.notes):
        if sentence:
            lines += [text(sentence, 1000), ""]
    lines += [f"| | {text(names.a)} | {text(names.b)} |", "|---|---|---|"]
    fair = [(each.name, each.a or "not recorded", each.b or "not recorded") for each in beside(comparison)]
    for name, a, b in [*_facts(comparison.a, comparison.b), *fair]:
        lines.append(f"| {name} | {text(a)} | {text(b)} |")
    if comparison.speed is not None:
        lines += [
            f"| {text(each.name)} | {text(each.a)} | {text(each.b)} |"
            for each in comparison.machines.differences
        ]
    if comparison.speed is not None and not comparison.speed.refused:
        lines += _speed(comparison, comparison.speed, names)
    if comparison.conformance is not None:
        lines += _conformance(comparison.conformance, names)
    return "\n".join(lines).rstrip() + "\n"


def text(anything: str, limit: int = 300) -> str:
    """Return a text on one line in which Markdown and HTML find nothing to act upon."""
    return _ACTIVE.sub(r"\\\1", one_line(anything, limit))


def _facts(a: SideFacts, b: SideFacts) -> list[tuple[str, str, str]]:
    facts = [
        ("runtime", a.name, b.name),
        ("run", f"{a.kind} {a.run_id}", f"{b.kind} {b.run_id}"),
        ("started", moment(a.started), moment(b.started)),
    ]
    return [*facts, ("scope", a.scope, b.scope)] if a.partial or b.partial else facts


def _speed(comparison: RunComparison, speed: Speed, names: Names) -> list[str]:
    heads = text(names.a), text(names.b)
    head = " | ".join(heads)
    lines = ["", "### Speed", "", text(method_sentence(comparison), 600), ""]
    lines += [
        f"| operation | {head} | ratio | interval | {heads[1]} is | failed calls, {heads[0]} | {heads[1]} |",
        "|---|--:|--:|--:|--:|---|---|---|",
    ]
    lines += [_row(operation, comparison, names) for operation in speed.operations[:LISTED]]
    lines += _more(len(speed.operations) - LISTED)
    for reason, operations in too_noisy(speed):
        lines += ["", f"Too noisy to tell: {text(', '.join(operations), 1000)}: {text(reason)}."]
    for label, unpaired in ((text(names.a), speed.only_a), (text(names.b), speed.only_b)):
        if unpaired:
            labels = [
                text(operation_label(each.scenario, each.operation, each.dimensions))
                for each in unpaired[:LISTED]
            ]
            lines += ["", f"Measured on {label} only: {', '.join(labels)}", *_more(len(unpaired) - LISTED)]
    return lines


def _row(operation: Operation, comparison: RunComparison, names: Names) -> str:
    label = text(operation_label(operation.scenario, operation.operation, operation.dimensions))
    reason, word = why(operation, names), verdict_text(operation, comparison)
    proven = operation.verdict in {Verdict.SLOWER, Verdict.FASTER}
    cells = [
        f"**{label}**" if operation.headline else label,
        amount(operation.a.value, operation.unit),
        amount(operation.b.value, operation.unit),
        ratio(operation.ratio),
        interval(operation.low, operation.high) or "·",
        (f"**{word}**" if proven else word) + (f" ({text(reason)})" if reason else ""),
        text(error_words(operation.a.failed, operation.a.calls, operation.a.errors)),
        text(error_words(operation.b.failed, operation.b.calls, operation.b.errors)),
    ]
    return f"| {' | '.join(cells)} |"


def _conformance(conformance: Conformance, names: Names) -> list[str]:
    lines: list[str] = []
    head = f"{text(names.a)} | {text(names.b)}"
    for group, members in conformance.grouped().items():
        lines += ["", f"### {text(names.group(group))} ({len(members)})", ""]
        told = [each for each in members if not each.not_run]
        lines += (
            [f"{len(members) - len(told)} not tested there.", *([""] if told else [])]
            if len(told) < len(members)
            else []
        )
        lines += (
            [
                f"| requirement | {head} | promise | seen |",
                "|---|---|---|---|---|",
            ]
            if told
            else []
        )
        for each in told[:LISTED]:
            seen = next((aspect.why for aspect in each.aspects if aspect.why), "")
            cells = (each.requirement, each.a, each.b, each.title, seen)
            lines.append(f"| {' | '.join(text(cell) for cell in cells)} |")
        lines += _more(len(told) - LISTED)
    differing = [pair for pair in conformance.forms if pair.differ]
    if differing:
        lines += [
            "",
            f"### Where the API is silent they differ ({len(differing)})",
            "",
            f"| aspect | {head} |",
            "|---|---|---|",
        ]
        for pair in differing[:LISTED]:
            lines.append(
                f"| {text(pair.aspect)} | {text(pair.a) or 'not recorded'} |"
                f" {text(pair.b) or 'not recorded'} |"
            )
        lines += _more(len(differing) - LISTED)
    if conformance.capabilities:
        words = {True: "yes", False: "no", None: "not known"}
        lines += [
            "",
            f"### Capabilities ({len(conformance.capabilities)})",
            "",
            f"| capability | {head} |",
            "|---|---|---|",
        ]
        lines += [
            f"| {text(each.name)} | {words[each.a]} | {words[each.b]} |" for each in conformance.capabilities
        ]
    for label, tests in (
        (text(names.a), conformance.tests_only_a),
        (text(names.b), conformance.tests_only_b),
    ):
        if tests:
            lines += ["", f"{len(tests)} tests that {label} alone has."]
    return lines


def _more(number: int) -> list[str]:
    return ["", f"… and {number} more."] if number > 0 else []
