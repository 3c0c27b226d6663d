"""What an exploration tells at its end: the table of what was covered, the findings, and a file of both."""

import json
from collections.abc import Iterator
from pathlib import Path

from critests.explore.exploration_findings import table, write
from critests.explore.exploration_state import NAME
from critests.explore.exploring import Explored


def lines(explored: Explored) -> Iterator[str]:
    """Give what a person reads."""
    rows = table(explored.outcomes)
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    for rpc, situation, outcomes in rows:
        yield f"  {rpc:<{widths[0]}}  {situation:<{widths[1]}}  {outcomes}"
    rate = explored.steps / explored.seconds if explored.seconds else 0.0
    yield (
        f"{explored.steps} steps in {explored.sequences} sequences, {rate:.1f} a second; {len(rows)} places"
        f" covered; seed {explored.earlier.seed}"
    )
    for signature, count in sorted(explored.known.items()):
        yield f"known or told already: {signature}, {count} times"
    for finding in explored.findings:
        yield f"{finding}\n  came again in {finding.again} of {finding.tries} tries"
    yield f"{len(explored.findings) or 'nothing'} found"


def keep(explored: Explored, folder: Path, runtime: str) -> Iterator[Path]:
    """Write what was found and what was covered into a folder; give the folder of each finding."""
    plain = {
        "runtime": runtime,
        "seed": explored.earlier.seed,
        "seconds": round(explored.seconds, 1),
        "steps": explored.steps,
        "sequences": explored.sequences,
        "interrupted": explored.interrupted,
        "covered": [list(row) for row in table(explored.outcomes)],
        "known": dict(sorted(explored.known.items())),
        "findings": [finding.plain() for finding in explored.findings],
        "resume": explored.earlier.plain(),
    }
    (folder / NAME).write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    for finding in explored.findings:
        yield write(finding, folder / "found", seed=explored.earlier.seed, runtime=runtime)
