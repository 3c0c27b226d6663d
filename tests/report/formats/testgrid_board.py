"""The grid that TestGrid's updater would draw of a bucket, by the rules of its source: which files it reads,
names, merging, limits.
"""

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Group = dict[str, Any]

JUNIT = re.compile(r".+/(?:junit((_[^_]+)?(_\d+-\d+)?(_\d+)?|.+)?\.xml|test.xml)$")
MESSAGE_BYTES = 140
FILE_BYTES = 100 * 1024 * 1024
DUPLICATES = 20


@dataclass
class Cell:
    result: str
    icon: str = ""
    message: str = ""
    metrics: dict[str, float] = field(default_factory=dict)


@dataclass
class Column:
    build: str
    headers: list[str]
    cells: dict[str, Cell]


def board(root: Path, job: str, group: Group) -> list[Column]:
    """Return the columns, newest first; builds are taken by number, not beyond the one that latest-build.txt
    names.
    """
    folder = root / "logs" / job
    newest = int((folder / "latest-build.txt").read_text())
    builds = sorted((int(path.name) for path in folder.iterdir() if path.is_dir()), reverse=True)
    return [_column(folder / str(build), job, group) for build in builds if build <= newest]


def context_and_thread(path: str) -> tuple[str, str]:
    match = JUNIT.match(path)
    assert match, path
    return (match[2] or "").strip("_"), (match[4] or "").strip("_")


def _column(build: Path, job: str, group: Group) -> Column:
    started = json.loads((build / "started.json").read_text())
    finished_file = build / "finished.json"
    finished = json.loads(finished_file.read_text()) if finished_file.exists() else {}
    metadata = {name: value for name, value in finished.get("metadata", {}).items() if isinstance(value, str)}
    cells: dict[str, list[Cell]] = {}
    malformed = []
    for path in sorted(build.rglob("*")):
        if not path.is_file() or not JUNIT.match(str(path)):
            continue
        assert path.stat().st_size <= FILE_BYTES
        try:
            tree = ET.fromstring(path.read_bytes())  # noqa: S314 - our own document
        except ET.ParseError:
            malformed.append(path.name)
            continue
        for suite in [tree] if tree.tag == "testsuite" else tree.findall("testsuite"):
            for name, case in _cases(suite, ""):
                cell = _cell(case, group)
                if cell:
                    cells.setdefault(name, []).append(cell)
    merged = {name: _merge(each) for name, each in cells.items()}
    merged[f"{job}.Overall"] = _overall(started, finished, malformed, merged)
    headers = [
        _header(item["configuration_value"], metadata, started) for item in group.get("column_header", [])
    ]
    return Column(build.name, headers, merged)


def _header(wanted: str, metadata: dict[str, str], started: Json) -> str:
    if wanted == "Commit" and wanted not in metadata:
        version = (
            metadata.get("revision")
            or metadata.get("repo-commit")
            or metadata.get("job-version")
            or started.get("repo-commit")
        )
        return version.split("+", 1)[-1][:9] if version else "missing"
    return metadata.get(wanted, "missing")


def _cases(suite: ET.Element, prefix: str) -> list[tuple[str, ET.Element]]:
    """Suite names and the name of the case joined by dots; the class name plays no part."""
    name = ".".join(filter(None, (prefix, suite.get("name", ""))))
    found = [case for inner in suite.findall("testsuite") for case in _cases(inner, name)]
    return found + [
        (".".join(filter(None, (name, case.get("name", "")))), case) for case in suite.findall("testcase")
    ]


def _cell(case: ET.Element, group: Group) -> Cell | None:
    error, failure, skipped = (case.find(name) for name in ("error", "failure", "skipped"))
    if skipped is not None and not skipped.text and skipped.get("message", "") in {"", "skipped"}:
        return None  # the row vanishes
    cell = Cell("PASS")
    elapsed = float(case.get("time") or 0)
    if elapsed > 0:
        cell.metrics["test-duration-minutes"] = elapsed / 60
    properties: dict[str, list[str]] = {}
    for item in case.iter("property"):
        properties.setdefault(str(item.get("name")), []).append(str(item.get("value")))
    for name, values in properties.items():
        numbers = [number for value in values if (number := _number(value)) is not None]
        if numbers:
            cell.metrics[name] = sum(numbers) / len(numbers)
    cell.message = _message(case)
    if error is not None or failure is not None:
        cell.result, cell.icon = "FAIL", "F" if cell.message else ""
    elif skipped is not None:
        cell.result, cell.icon = "PASS_WITH_SKIPS", "S"
    _put_in(cell, properties, group)
    return cell


def _put_in(cell: Cell, properties: dict[str, list[str]], group: Group) -> None:
    """What a group may show in a cell: a letter where a property is present, else a number."""
    for annotation in group.get("test_annotations", []):
        if annotation["property_name"] in properties:
            cell.icon = annotation["short_text"]
            break
    if group.get("short_text_metric") in cell.metrics:
        cell.icon = f"{cell.metrics[group['short_text_metric']]:.4g}"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _message(case: ET.Element) -> str:
    for name in ("error", "failure", "skipped", "system-err", "system-out"):
        element = case.find(name)
        if element is None:
            continue
        text = "\n".join(part for part in (element.get("message", ""), element.text or "") if part)
        if text:
            data = text.encode()
            if len(data) >= MESSAGE_BYTES:
                half = MESSAGE_BYTES // 2
                data = data[:half] + b"..." + data[-half:]
            return data.decode(errors="replace")
    return ""


def _merge(cells: list[Cell]) -> Cell:
    if len(cells) == 1:
        return cells[0]
    assert len(cells) <= DUPLICATES
    passed = sum(cell.result.startswith("PASS") for cell in cells)
    result = "FLAKY" if 0 < passed < len(cells) else cells[0].result
    return Cell(result, f"{passed}/{len(cells)}", f"{passed}/{len(cells)} runs passed")


def _overall(started: Json, finished: Json, malformed: list[str], cells: dict[str, Cell]) -> Cell:
    if malformed:
        return Cell("FAIL", "E", f"Malformed artifacts: {', '.join(malformed)}")
    if not finished.get("timestamp"):
        return Cell("RUNNING", "R", "Build still running...")
    passed = finished.get("passed")
    if passed is None:
        return Cell("PASS" if finished.get("result") == "SUCCESS" else "FAIL", "E")
    cell = Cell(
        "PASS" if passed else "FAIL",
        metrics={"test-duration-minutes": (finished["timestamp"] - started["timestamp"]) / 60},
    )
    if not passed and not any(each.result == "FAIL" for each in cells.values()):
        cell.icon, cell.message = "F", "Build failed outside of test results"
    return cell


def _shown(cell: Cell) -> str:
    return cell.icon or ("." if cell.result.startswith("PASS") else cell.result)


def drawn(columns: list[Column]) -> str:
    """Return the grid as text: a row a line, a column for each build, newest left; `.` passed without an
    icon, blank without a result.
    """
    rows = list(dict.fromkeys(name for column in columns for name in column.cells))
    lines = [f"{'build':<90}" + " ".join(f"{column.build[-6:]:>8}" for column in columns)]
    for headers in zip(*(column.headers for column in columns), strict=True):
        lines += [f"{'':<90}" + " ".join(f"{header[:8]:>8}" for header in headers)]
    for row in sorted(rows):
        icons = [_shown(column.cells[row]) if row in column.cells else "" for column in columns]
        lines.append(f"{row[:89]:<90}" + " ".join(f"{icon:>8}" for icon in icons))
    return "\n".join(line.rstrip() for line in lines) + "\n"
