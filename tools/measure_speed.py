#!/usr/bin/env python3
"""How fast a run is: start-up, time per test, the harness's own share of the processor. The numbers in
docs/speed.md are made with this.

usage: tools/measure_speed.py [--node containerd=/path/to/containerd] [--rounds 3] [-- ARGUMENTS OF critests
run]

Starts one throwaway runtime, then runs the suite on its endpoint as a user would, with one worker and with
two, in turns.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from critests.node.subjects import parse_throwaway
from critests.node.with_registry import throwaway_with_registry


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--node", default="containerd")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("arguments", nargs="*")
    chosen = parser.parse_args()
    node = parse_throwaway(chosen.node)
    with throwaway_with_registry(node.kind, binary=node.binary) as (runtime, _):
        print(f"{runtime.runtime_name} {runtime.version}, {chosen.rounds} rounds each; seconds")
        print(
            f"{'workers':>7} {'tests':>6} {'slow':>5} {'start-up':>9} {'wall':>7} {'per test':>9}"
            f" {'CPU share':>10}"
        )
        rows: dict[int, list[dict[str, float]]] = {1: [], 2: []}
        for _ in range(chosen.rounds):
            for workers, measured in rows.items():
                measured.append(_run(runtime.endpoint, workers, chosen.arguments))
                _print(workers, measured[-1])
        for workers, measured in rows.items():
            _print(
                workers,
                {name: statistics.median(row[name] for row in measured) for name in measured[0]},
                "median",
            )


def _run(endpoint: str, workers: int, arguments: list[str]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-P",
            "-m",
            "critests.cli",
            "run",
            "--runtime-endpoint",
            endpoint,
            "--results",
            folder,
            "-n",
            str(workers),
            *arguments,
        ]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode not in {0, 1}:
            sys.exit(
                f"critests run ended with {ended.returncode}:\n{ended.stdout[-2000:]}\n{ended.stderr[-2000:]}"
            )
        (file,) = Path(folder).rglob("run.json")
        record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    timing = record["timing"]
    ran = [test for test in record["tests"] if test["outcome"] != "disabled" and not test.get("synthesized")]
    slow = [test for test in ran if test["slow"]]
    slow_seconds = (
        sum(test["setup_seconds"] + test["seconds"] + test["teardown_seconds"] for test in slow) / workers
    )
    quick_wall = timing["wall_seconds"] - timing["startup_seconds"] - slow_seconds
    return {
        "tests": len(ran),
        "slow": len(slow),
        "startup": timing["startup_seconds"],
        "wall": timing["wall_seconds"],
        "per_test": quick_wall / max(1, len(ran) - len(slow)),
        "cpu": timing["harness_cpu_seconds"] / timing["wall_seconds"],
    }


def _print(workers: int, row: dict[str, float], word: str = "") -> None:
    counts = f"{workers:>7} {row['tests']:>6.0f} {row['slow']:>5.0f}"
    print(
        f"{counts} {row['startup']:>9.2f} {row['wall']:>7.1f} {row['per_test']:>9.3f} {row['cpu']:>9.0%}"
        f" {word}",
        flush=True,
    )


if __name__ == "__main__":
    main()
