"""The run as JUnit XML, in the dialect that pytest calls xunit1: one suite, one case per test.

Names of cases are unique in the whole suite, as some dashboards drop module names. Messages begin with the
requirement's id. A skipped case has a message, else it vanishes from TestGrid. A benchmark run also has a
case per operation, whose properties are numbers.
"""

import datetime as dt
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from typing import Final
from xml.sax.saxutils import escape

from critests.catalogue.words import Level, Outcome
from critests.record.operations import OperationResult
from critests.record.result_records import TestResult
from critests.record.run_record import RunRecord
from critests.report.facts.explanations import description, observed_of, promise_of, skip_message
from critests.report.facts.musts import verdict_sentence
from critests.report.facts.operation_names import median, quantiles, row_name, tail
from critests.report.facts.run_facts import run_facts
from critests.report.formats.source import Source
from critests.report.wording.quantities import percentile
from critests.report.wording.texts import cut, one_line

SUITE: Final = "cri"
"""Name of the suite; dashboards put it before every row."""
MESSAGE_LIMIT: Final = 4 * 1024
TEXT_BUDGET: Final = 8 * 1024 * 1024
"""Characters of all texts together, escaped; further texts are cut to `SHORT_TEXT`."""
SHORT_TEXT: Final = 1024
SHOWN: Final = "shown"
"""Property of an operation that a board shows in its cell: milliseconds, megabytes or a plain number."""
_DISPLAY: Final = {"s": (1e3, "ms"), "B": (1e-6, "MB"), "B/s": (1e-6, "MB/s")}
_MARKED: Final = frozenset({Outcome.WARNED, Outcome.KNOWN, Outcome.BLOCKED, Outcome.UNSUPPORTED})


def render(source: Source) -> str:
    """Return the JUnit document."""
    return to_junit(source.record)


def to_junit(record: RunRecord) -> str:
    """Return the run as a JUnit XML document (UTF-8, with its declaration).

    Deselected tests are left out. Characters that XML 1.0 forbids are removed from texts, which are bounded.
    """
    tests = [test for test in record.tests if test.outcome is not Outcome.DISABLED]
    root = ET.Element("testsuites", {"name": "critests"})
    suite = ET.SubElement(root, "testsuite")
    _add_properties(suite, _suite_properties(record))
    for test, name in zip(tests, _unique_names(tests), strict=True):
        _add_case(suite, test, name)
    for operation in record.operations:
        _add_operation(suite, operation)
    suite.attrib.update(_suite_attributes(record, suite))
    _fit(root)
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _fit(root: ET.Element) -> None:
    """Cut long texts once `TEXT_BUDGET` is used up, as some readers reject files of more than 30 MB."""
    left = TEXT_BUDGET
    for element in root.iter():
        if element.text:
            if left <= 0:
                element.text = cut(element.text, SHORT_TEXT, rest="see the run record")
            left -= len(escape(element.text))


def _suite_attributes(record: RunRecord, suite: ET.Element) -> dict[str, str]:
    numbers = {
        "tests": "testcase",
        "failures": "testcase/failure",
        "errors": "testcase/error",
        "skipped": "testcase/skipped",
    }
    return {
        "name": SUITE,
        **{name: str(len(suite.findall(path))) for name, path in numbers.items()},
        "time": f"{max(record.finished - record.started, 0):.3f}",
        "timestamp": dt.datetime.fromtimestamp(record.started, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S"),
        "hostname": "localhost",
    }


def _suite_properties(record: RunRecord) -> Iterator[tuple[str, str]]:
    yield from run_facts(record).items()
    if record.requirements:
        yield "musts", verdict_sentence(record)
    yield "exit_code", str(record.exit_code)
    yield "kind", record.kind
    for fact in record.capabilities:
        yield f"capability: {fact.name}", {True: "yes", False: "no", None: "unknown"}[fact.present]


def _add_case(suite: ET.Element, test: TestResult, name: str) -> None:
    """Add one test: its properties, then its failure or skip, then its output."""
    attributes = {"classname": _classname(test), "name": name, "time": f"{test.total_seconds:.3f}"}
    case = ET.SubElement(suite, "testcase", attributes)
    _add_properties(case, _case_properties(test))
    head = f"{test.requirement}: " if test.requirement else ""
    if test.cause and test.cause != test.requirement_id:
        head = f"{head}caused by {test.cause}: "
    if test.outcome in {Outcome.FAILED, Outcome.ERROR}:
        kind = "failure" if test.outcome is Outcome.FAILED else "error"
        text = ": ".join(filter(None, [promise_of(test).rstrip("."), observed_of(test, MESSAGE_LIMIT)]))
        message = one_line(head + text, MESSAGE_LIMIT)
        element = ET.SubElement(case, kind, {"message": message, "type": f"critests.{test.outcome.value}"})
        element.text = description(test)
    elif test.outcome in {Outcome.UNSUPPORTED, Outcome.BLOCKED, Outcome.KNOWN}:
        message = one_line(skip_message(test), MESSAGE_LIMIT)
        element = ET.SubElement(
            case, "skipped", {"message": message, "type": f"critests.{test.outcome.value}"}
        )
        element.text = one_line(head + (test.reason or test.title), MESSAGE_LIMIT)
    elif test.outcome is Outcome.WARNED:
        ET.SubElement(case, "system-out").text = f"{one_line(head, 200)} warned: {description(test)}".lstrip()


def _add_operation(suite: ET.Element, operation: OperationResult) -> None:
    """Add an operation of a benchmark; it passes if any of its calls succeeded, however long it took."""
    middle, worst = median(operation), tail(operation)
    factor, unit = _DISPLAY.get(operation.unit, (1.0, operation.unit))
    attributes = {
        "classname": one_line(f"critests.benchmark.{operation.scenario}", 300),
        "name": one_line(row_name(operation), 500),
        "time": f"{middle.value if middle and operation.unit == 's' else 0:.6f}",
    }
    case = ET.SubElement(suite, "testcase", attributes)
    values = [("unit", unit), ("samples", str(operation.count)), ("quantile", worst.name if worst else "")]
    values += [
        (percentile(str(at)), f"{estimate.value * factor:.6g}") for at, estimate in quantiles(operation)
    ]
    values += [(SHOWN, f"{worst.value * factor:.6g}")] if worst else []
    values += [(f"errors: {code}", str(number)) for code, number in sorted(operation.errors.items())]
    _add_properties(case, iter(values))
    failed = ", ".join(f"{number} {code}" for code, number in sorted(operation.errors.items()))
    if not operation.count and operation.errors:
        message = one_line(f"{operation.scenario}: no call succeeded: {failed}", MESSAGE_LIMIT)
        ET.SubElement(case, "failure", {"message": message, "type": "critests.failed"}).text = message
    elif not worst:
        message = one_line(
            f"blocked: {operation.note or operation.stopped or 'there are no samples'}", MESSAGE_LIMIT
        )
        ET.SubElement(case, "skipped", {"message": message, "type": "critests.blocked"})
    else:
        parts = [
            worst.text(operation.unit),
            middle.text(operation.unit) if middle and middle != worst else "",
        ]
        parts += [f"{operation.count} samples", f"errors: {failed}" if failed else ""]
        parts += [
            "the client's own cost is a third of it or more" if operation.client_bound else "",
            operation.note,
        ]
        ET.SubElement(case, "system-out").text = one_line(
            ", ".join(part for part in parts if part), MESSAGE_LIMIT
        )


def _case_properties(test: TestResult) -> Iterator[tuple[str, str]]:
    """Yield the properties of a test; empty ones are left out later."""
    binding = test.level in {Level.MUST, Level.OPT} and not test.judgement
    yield "outcome", test.outcome.value
    # TestGrid puts a letter into a cell if a property is present, whatever its value
    yield f"outcome_{test.outcome.value}", "yes" if test.outcome in _MARKED else ""
    yield "requirement", test.requirement
    yield "level", test.level.value
    yield "lifecycle", "blocking" if binding else "informing"
    yield "area", test.area
    yield "handler", test.handler
    yield "known", test.expectation if test.outcome is Outcome.KNOWN else ""
    yield "blocked_by", test.blocked_by
    yield "cause", test.cause
    yield "form", test.form
    yield "evidence", test.evidence if test.outcome is not Outcome.PASSED else ""


def _add_properties(parent: ET.Element, values: Iterator[tuple[str, str]]) -> None:
    properties = ET.SubElement(parent, "properties")
    for name, value in values:
        if value:
            ET.SubElement(
                properties, "property", {"name": one_line(name, 200), "value": one_line(value, MESSAGE_LIMIT)}
            )


def _classname(test: TestResult) -> str:
    module = (
        test.id.partition("::")[0]
        if "::" in test.id and not test.synthesized
        else f"critests/{test.area or 'run'}"
    )
    return one_line(module.removesuffix(".py").replace("/", "."), 300)


def _unique_names(tests: list[TestResult]) -> list[str]:
    """Return a unique name for each test: equal names get their module and, if needed, a number."""
    names = [one_line(test.name, 500) for test in tests]
    numbers = Counter(names)
    names = [
        f"{name} ({_classname(test)})" if numbers[name] > 1 else name
        for name, test in zip(names, tests, strict=True)
    ]
    seen: Counter[str] = Counter()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return unique
