"""The output of an exploration: the table of what was covered, the findings, and a file with both."""

import json
from collections.abc import Iterator
from pathlib import Path

from critests.explore.exploration_findings import table, write
from critests.explore.exploration_state import STATE_FILE
from critests.explore.exploring import ExplorationResult


def lines(result: ExplorationResult) -> Iterator[str]:
    """Yield the lines for the terminal."""
    rows = table(result.outcomes)
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    for rpc, situation, outcomes in rows:
        yield f"  {rpc:<{widths[0]}}  {situation:<{widths[1]}}  {outcomes}"
    rate = result.steps / result.seconds if result.seconds else 0.0
    yield (
        f"{result.steps} steps in {result.sequences} sequences, {rate:.1f} a second; {len(rows)} places"
        f" covered; seed {result.earlier.seed}"
    )
    for signature, count in sorted(result.known.items()):
        yield f"known or reported before: {signature}, {count} times"
    for finding in result.findings:
        yield f"{finding}\n  reproduced in {finding.reproduced} of {finding.tries} tries"
    yield f"{len(result.findings) or 'nothing'} found"


def write_results(result: ExplorationResult, folder: Path, runtime: str) -> Iterator[Path]:
    """Write what was found and covered into a folder; yield the folder of each finding."""
    plain = {
        "runtime": runtime,
        "seed": result.earlier.seed,
        "seconds": round(result.seconds, 1),
        "steps": result.steps,
        "sequences": result.sequences,
        "interrupted": result.interrupted,
        "covered": [list(row) for row in table(result.outcomes)],
        "known": dict(sorted(result.known.items())),
        "findings": [finding.plain() for finding in result.findings],
        "resume": result.earlier.plain(),
    }
    (folder / STATE_FILE).write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    for finding in result.findings:
        yield write(finding, folder / "found", seed=result.earlier.seed, runtime=runtime)
