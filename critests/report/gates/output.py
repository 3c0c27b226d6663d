"""What a gate says: ten lines for a person, JSON and JUnit for machines."""

import json
import xml.etree.ElementTree as ET
from typing import Final

from critests.exit_codes import ExitCode
from critests.record.codec import to_plain
from critests.report.gates.findings import Finding, counted
from critests.report.gates.judging import GateReport
from critests.report.wording.texts import one_line

SCHEMA: Final = "critests.gate"
SCHEMA_VERSION: Final = 1
LINES: Final = 10
LINE_LIMIT: Final = 240
SUITE: Final = "critests gate"
_MESSAGE_LIMIT: Final = 4 * 1024


def gate_lines(report: GateReport, limit: int = LINES) -> list[str]:
    """Return the lines that explain the decision, at most `limit`, worst first; the rest is counted.

    Args:
        report: What was decided.
        limit: Number of lines, at least 2.
    """
    head = f"gate {report.sentence} (exit {report.exit_code})"
    lines = [("✕ ", finding) for finding in report.failing]
    lines += [("· ", finding) for finding in report.remarks]
    obstacles = (
        [] if report.exit_code == ExitCode.NOT_TESTED else [f"? {obstacle}" for obstacle in report.obstacles]
    )
    room = limit - 1 - len(obstacles)
    shown = lines if len(lines) <= room else lines[: max(room - 1, 0)]
    told = [mark + finding.sentence for mark, finding in shown]
    rest = [finding for _, finding in lines[len(shown) :]]
    failing = len(report.failing)
    ordered = [head, *told[:failing], *obstacles, *told[failing:]]
    if rest:
        ordered.append(f"… and {len(rest)} more: {counted(rest)}")
    return [one_line(line, LINE_LIMIT) for line in ordered[:limit]]


def gate_to_json(report: GateReport) -> str:
    """Return the decision as JSON, with a line end."""
    body = to_plain(report)
    assert isinstance(body, dict)
    return (
        json.dumps(
            {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, **body},
            ensure_ascii=True,
            indent=1,
            allow_nan=False,
        )
        + "\n"
    )


def gate_to_junit(report: GateReport) -> str:
    """Return the decision as JUnit XML (xunit1): one case for the gate as a whole and one for each
    finding.
    """
    cases = [*report.failing, *report.remarks]
    undecided = report.exit_code == ExitCode.NOT_TESTED
    suite = ET.Element(
        "testsuite",
        {
            "name": SUITE,
            "tests": str(len(cases) + 1),
            "failures": str(len(report.failing) + bool(report.failing)),
            "errors": str(int(undecided)),
            "skipped": str(len(report.remarks)),
        },
    )
    whole = ET.SubElement(suite, "testcase", {"classname": "critests.gate", "name": "gate"})
    if undecided:
        ET.SubElement(
            whole, "error", {"message": one_line(report.sentence, _MESSAGE_LIMIT), "type": "critests.gate"}
        )
    elif report.failing:
        ET.SubElement(
            whole, "failure", {"message": one_line(report.sentence, _MESSAGE_LIMIT), "type": "critests.gate"}
        )
    names: dict[str, int] = {}
    for finding in cases:
        _add_case(suite, finding, names)
    root = ET.Element("testsuites", {"name": "critests"})
    root.append(suite)
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _add_case(suite: ET.Element, finding: Finding, names: dict[str, int]) -> None:
    """Add a finding under a name that no other has: dashboards merge rows of one name."""
    name = one_line(
        f"{finding.kind.value}: {finding.subject}" if finding.subject else finding.kind.value, 300
    )
    names[name] = names.get(name, 0) + 1
    unique = name if names[name] == 1 else f"{name} #{names[name]}"
    case = ET.SubElement(suite, "testcase", {"classname": "critests.gate", "name": unique})
    message = one_line(finding.sentence, _MESSAGE_LIMIT)
    ET.SubElement(
        case,
        "failure" if finding.fails else "skipped",
        {"message": message, "type": f"critests.gate.{finding.kind.name.lower()}"},
    )
