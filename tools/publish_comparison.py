#!/usr/bin/env python3
"""Publish a live comparison: its record and samples, compressed, and a page with its results.

    python tools/publish_comparison.py RUN TARGET --replace /home/me/runtimes=/opt

RUN is the folder of the run of `critests compare A B`, TARGET a folder in results/published. `--replace`
replaces local paths in all published files. `critests compare TARGET` shows the whole comparison.
"""

import argparse
import gzip
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the reports of this checkout

from critests.benchmark.scenario_profiles import SCENARIOS  # noqa: E402 - after sys.path
from critests.record.files import record_file  # noqa: E402 - after sys.path
from critests.record.operations import OperationResult  # noqa: E402 - after sys.path
from critests.record.run_layout import COMPRESSED_RUN_FILE  # noqa: E402 - after sys.path
from critests.report.comparison import (  # noqa: E402 - after sys.path
    Operation,
    RunComparison,
    StoredRun,
    compare_sides,
    read_run,
)
from critests.report.comparison.comparison_markdown import answers_in_markdown  # noqa: E402 - after sys.path
from critests.report.comparison.comparison_sentences import verdict_text  # noqa: E402 - after sys.path
from critests.report.comparison.fairness import environment_facts  # noqa: E402 - after sys.path
from critests.report.comparison.names import Names, names_of  # noqa: E402 - after sys.path
from critests.report.comparison.wording import amount, interval, ratio  # noqa: E402 - after sys.path
from critests.report.facts.operation_growth import Grown, growth_differences, growths  # noqa: E402 - after sys.path
from critests.report.facts.operation_names import label  # noqa: E402 - after sys.path
from critests.report.wording.markdown import prose  # noqa: E402 - after sys.path


def page(run: StoredRun, folder: str) -> str:
    """Return the page of a live comparison, in Markdown.

    Args:
        run: The comparison.
        folder: Its published folder, for the command in the page.
    """
    comparison = compare_sides(run.record, run.samples)
    names = names_of(comparison.a, comparison.b)
    lines = [
        f"# {prose(names.a)} compared with {prose(names.b)}",
        "",
        "Both were measured in turn in one run on one machine. `tools/publish_comparison.py` wrote this page",
        f"from the record and the samples in this folder; `critests compare {folder}` shows all results.",
        "",
        *answers_in_markdown(comparison),
        "",
        f"| | {prose(names.a)} | {prose(names.b)} |",
        "|---|---|---|",
        f"| runtime | {prose(comparison.a.name)} | {prose(comparison.b.name)} |",
        *(
            f"| {prose(each.name)} | {prose(each.a or 'not recorded')} | {prose(each.b or 'not recorded')} |"
            for each in environment_facts(comparison)
        ),
        *_operations(run, comparison, names),
        *_growth(growths(run.record.operations), names),
    ]
    return "\n".join(lines) + "\n"


def _operations(run: StoredRun, comparison: RunComparison, names: Names) -> list[str]:
    """Return a table for each scenario: medians with 95 % intervals, the ratio, the reference
    measurements.
    """
    measured = {(*_key(each), each.side): each for each in run.record.operations}
    by_scenario: dict[str, list[Operation]] = {}
    for each in comparison.speed.operations if comparison.speed else ():
        by_scenario.setdefault(each.scenario, []).append(each)
    lines: list[str] = []
    for name in sorted(by_scenario):
        title = SCENARIOS[name].title if name in SCENARIOS else ""
        a, b = prose(names.a), prose(names.b)
        lines += [
            "",
            f"## {name} {title}".rstrip(),
            "",
            f"| | {a} | {b} | ratio | {b} is | client | times OCI alone |",
            "|---|--:|--:|--:|---|--:|--:|",
        ]
        order = {_key(each): number for number, each in enumerate(run.record.operations)}
        for each in sorted(by_scenario[name], key=lambda found: order.get(_key(found), 0)):
            sides = [measured.get((*_key(each), side)) for side in ("a", "b")]
            bounds = interval(each.low, each.high)
            cells = [
                prose(label(each.operation, each.dimensions)),
                *(
                    amount(side.value, each.unit)
                    + (
                        f" ({amount(side.low, each.unit)} to {amount(side.high, each.unit)})"
                        if side.low is not None and side.high is not None
                        else ""
                    )
                    for side in (each.a, each.b)
                ),
                ratio(each.ratio) + (f" ({bounds})" if bounds else ""),
                prose(verdict_text(each, comparison)),
                _client_cost(sides),
                _multiples(sides),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def _key(each: Operation | OperationResult) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    return each.scenario, each.operation, tuple(sorted(each.dimensions.items()))


def _client_cost(sides: Iterable[OperationResult | None]) -> str:
    """Return the client's own cost, which is the same for both sides."""
    known = [each.client_seconds for each in sides if each is not None and each.client_seconds is not None]
    return amount(max(known), "s") if known else ""


def _multiples(sides: Iterable[OperationResult | None]) -> str:
    found = ["·" if each is None else ratio(each.over_reference) for each in sides]
    return ", ".join(found) if any(each != "·" for each in found) else ""


def _growth(found: Sequence[Grown], names: Names) -> list[str]:
    """Return the cost of one more object on each side, and the differences."""
    called = {"a": names.a, "b": names.b}
    lines = ["", "## What one more costs", ""] if found else []
    lines += [f"- {prose(each.sentence, 500)}" for each in growth_differences(found, called)]
    if found:
        lines += ["", "| | of | side | growth |", "|---|---|---|---|"]
        lines += [
            f"| {prose(f'{each.scenario} {each.name}')} | {prose(each.of)} |"
            f" {prose(called.get(each.side, ''))} | {prose(each.sentence, 500)} |"
            for each in found
        ]
    return lines


def publish(run: Path, target: Path, replaced: Sequence[tuple[str, str]]) -> None:
    """Write a run and its page to a folder.

    Args:
        run: The folder of the run.
        target: The new folder.
        replaced: Texts and their replacements in all files.
    """
    (target / "samples").mkdir(parents=True, exist_ok=True)
    sources = {target / COMPRESSED_RUN_FILE: record_file(run)}
    sources |= {target / "samples" / file.name: file for file in sorted((run / "samples").glob("*.jsonl.gz"))}
    for to, source in sources.items():
        content = source.read_bytes()
        plain = (gzip.decompress(content) if source.suffix == ".gz" else content).decode()
        for old, new in replaced:
            plain = plain.replace(old, new)
        to.write_bytes(gzip.compress(plain.encode(), mtime=0))
    inside = target.absolute().is_relative_to(ROOT)
    folder = str(target.absolute().relative_to(ROOT) if inside else target)
    (target / "README.md").write_text(page(read_run(target), folder), encoding="utf-8")


def main(arguments: Sequence[str]) -> None:
    """Publish a comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("target", type=Path, metavar="TARGET")
    parser.add_argument(
        "--replace", action="append", default=[], metavar="OLD=NEW", help="replace a text in all files"
    )
    given = parser.parse_args(arguments)
    pairs = [tuple(each.split("=", 1)) for each in given.replace]
    if any(len(pair) != 2 for pair in pairs):
        parser.error("--replace takes OLD=NEW")
    publish(given.run, given.target, pairs)


if __name__ == "__main__":
    main(sys.argv[1:])
