"""The run as JUnit XML, in the dialect that pytest calls xunit1: one suite, one case for each test.

What its readers need: dashboards that drop module names want names that are unique in the whole suite, and a message with the
requirement's id first; a skipped case wants a message with a reason, else it vanishes from the board.
"""

import datetime as dt
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from typing import Final

from critests.catalogue.words import Level, Outcome
from critests.record.results import TestResult
from critests.record.run import RunRecord
from critests.report.texts import cut, one_line, visible

SUITE: Final = "cri"
"""Name of the suite; dashboards put it before every row."""
MESSAGE_LIMIT: Final = 4 * 1024
TEXT_LIMIT: Final = 64 * 1024


def to_junit(record: RunRecord) -> str:
    """Return the run as a JUnit XML document (UTF-8, with its declaration).

    Tests that the user deselected are left out. Text of runtimes and containers is cleaned of what XML 1.0 forbids, and bounded.
    """
    tests = [test for test in record.tests if test.outcome is not Outcome.DISABLED]
    suite = ET.Element("testsuite", _suite_attributes(record, tests))
    _add_properties(suite, _suite_properties(record))
    for test, name in zip(tests, _unique_names(tests), strict=True):
        _add_case(suite, test, name)
    root = ET.Element("testsuites", {"name": "critests"})
    root.append(suite)
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite_attributes(record: RunRecord, tests: list[TestResult]) -> dict[str, str]:
    numbers = Counter(test.outcome for test in tests)
    skipped = numbers[Outcome.UNSUPPORTED] + numbers[Outcome.BLOCKED] + numbers[Outcome.KNOWN]
    return {
        "name": SUITE,
        "tests": str(len(tests)),
        "failures": str(numbers[Outcome.FAILED]),
        "errors": str(numbers[Outcome.ERROR]),
        "skipped": str(skipped),
        "time": f"{max(record.finished - record.started, 0):.3f}",
        "timestamp": _timestamp(record.started),
        "hostname": one_line(str(record.machine.get("hostname") or "localhost"), 200),
    }


def _suite_properties(record: RunRecord) -> Iterator[tuple[str, str]]:
    yield "runtime", record.runtime.name
    yield "runtime_version", record.runtime.version
    yield "suite_version", record.suite_version
    yield "catalogue_revision", record.catalogue_revision
    yield "run", record.run_id
    yield "exit_code", str(record.exit_code)


def _add_case(suite: ET.Element, test: TestResult, name: str) -> None:
    """Add one test: its properties first, then what became of it, then output."""
    attributes = {"classname": _classname(test), "name": name, "time": f"{test.total_seconds:.3f}"}
    case = ET.SubElement(suite, "testcase", attributes)
    _add_properties(case, _case_properties(test))
    head = f"{test.requirement}: " if test.requirement else ""
    if test.outcome in {Outcome.FAILED, Outcome.ERROR}:
        kind = "failure" if test.outcome is Outcome.FAILED else "error"
        message = one_line(head + (test.reason or test.title), MESSAGE_LIMIT)
        element = ET.SubElement(case, kind, {"message": message, "type": f"critests.{test.outcome.value}"})
        element.text = _description(test)
    elif test.outcome in {Outcome.UNSUPPORTED, Outcome.BLOCKED, Outcome.KNOWN}:
        message = one_line(_skip_message(test), MESSAGE_LIMIT)
        element = ET.SubElement(case, "skipped", {"message": message, "type": f"critests.{test.outcome.value}"})
        element.text = one_line(head + (test.reason or test.title), MESSAGE_LIMIT)
    elif test.outcome is Outcome.WARNED:
        ET.SubElement(case, "system-out").text = _description(test)


def _skip_message(test: TestResult) -> str:
    """Say why a case was skipped; never without a reason."""
    if test.outcome is Outcome.KNOWN:
        return f"known: {test.expectation or test.reason or 'listed in the expectations'}"
    reason = test.reason or "no reason was given"
    if test.blocked_by:
        rpc = test.setup_rpc or test.raw_rpc
        reason = f"{test.blocked_by}{f' ({rpc})' if rpc else ''} stood in the way: {reason}"
    return reason if reason.startswith(f"{test.outcome.value}:") else f"{test.outcome.value}: {reason}"


def _case_properties(test: TestResult) -> Iterator[tuple[str, str]]:
    """Yield what is known about a test, empty values left out."""
    binding = test.level in {Level.MUST, Level.OPT} and not test.judgement
    yield "outcome", test.outcome.value
    yield "requirement", test.requirement
    yield "level", test.level.value
    yield "lifecycle", "blocking" if binding else "informing"
    yield "area", test.area
    yield "handler", test.handler
    yield "known", test.expectation if test.outcome is Outcome.KNOWN else ""
    yield "blocked_by", test.blocked_by
    yield "form", test.form
    yield "evidence", test.evidence if test.outcome is not Outcome.PASSED else ""


def _add_properties(parent: ET.Element, values: Iterator[tuple[str, str]]) -> None:
    properties = ET.SubElement(parent, "properties")
    for name, value in values:
        if value:
            ET.SubElement(properties, "property", {"name": name, "value": one_line(value, MESSAGE_LIMIT)})


def _description(test: TestResult) -> str:
    """Return all that is known of a breach, bounded."""
    parts = (
        ("", test.title),
        ("", test.reason),
        ("expected: ", test.expected),
        ("seen: ", test.seen),
        ("evidence: ", test.evidence),
        ("repeat: ", test.repeat_command),
        ("\n", test.detail),
    )
    text = "\n".join(head + visible(cut(part, TEXT_LIMIT)) for head, part in parts if part)
    return cut(text, TEXT_LIMIT, rest=f"see {test.evidence}" if test.evidence else "see the run record")


def _classname(test: TestResult) -> str:
    module = test.id.partition("::")[0] if "::" in test.id and not test.synthesized else f"critests/{test.area or 'run'}"
    return one_line(module.removesuffix(".py").replace("/", "."), 300)


def _unique_names(tests: list[TestResult]) -> list[str]:
    """Return a name for each test that no other test has: the module, then a number is added where two are equal."""
    names = [one_line(test.name, 500) for test in tests]
    numbers = Counter(names)
    names = [f"{name} ({_classname(test)})" if numbers[name] > 1 else name for name, test in zip(names, tests, strict=True)]
    seen: Counter[str] = Counter()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return unique


def _timestamp(epoch_seconds: float) -> str:
    return dt.datetime.fromtimestamp(epoch_seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S")
