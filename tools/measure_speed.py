#!/usr/bin/env python3
"""How fast a run is: start-up, time per test, the harness's own share of the processor. The numbers in
docs/speed.md are made with this.

usage: tools/measure_speed.py [--node containerd=/path/to/containerd] [--rounds 3] [--beside CHECKOUT]
[-- ARGUMENTS OF critests run]

Starts one throwaway runtime, then runs the suite on its endpoint as a user would, with one worker and with
two, in turns. With an earlier checkout beside it, which has its environment in .venv, both run the tests that
both have, with two workers, in turns: machines differ more than the suite does from one month to the next.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from only_tests import VARIABLE

from critests.node.subjects import parse_throwaway
from critests.node.with_registry import throwaway_with_registry


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--node", default="containerd")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--beside", type=Path, help="an earlier checkout, with its environment in .venv")
    parser.add_argument("arguments", nargs="*")
    chosen = parser.parse_args()
    node = parse_throwaway(chosen.node)
    with throwaway_with_registry(node.kind, binary=node.binary) as (runtime, _):
        print(f"{runtime.runtime_name} {runtime.version}, {chosen.rounds} rounds each; seconds")
        print(
            f"{'workers':>7} {'tests':>6} {'slow':>5} {'start-up':>9} {'wall':>7} {'per test':>9}"
            f" {'CPU share':>10}"
        )
        if chosen.beside:
            _in_turns(runtime.endpoint, chosen.beside / ".venv/bin/python", chosen.rounds, chosen.arguments)
            return
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


def _in_turns(endpoint: str, earlier: Path, rounds: int, arguments: list[str]) -> None:
    """Measure both, and print how much longer a test takes now."""
    pythons = {"earlier": str(earlier), "now": sys.executable}
    both = _names(pythons["earlier"], []) & _names(pythons["now"], arguments)
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in pythons}
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
        file.write("\n".join(both))
        file.flush()
        only = {VARIABLE: file.name, "PYTHONPATH": str(Path(__file__).parent)}
        for _ in range(rounds):
            for name, python in pythons.items():
                with_both = [*(arguments if name == "now" else []), "--", "-p", "only_tests"]
                rows[name].append(_run(endpoint, 2, with_both, python=python, variables=only))
                _print(2, rows[name][-1], name)
    each = {name: statistics.median(row["per_test"] for row in those) for name, those in rows.items()}
    print(f"now over earlier: {each['now'] / each['earlier']:.2f}")


def _names(python: str, arguments: list[str]) -> set[str]:
    """Return the names of the tests that a checkout would run."""
    command = [python, "-P", "-m", "critests.cli", "run", "--list", *arguments]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line[line.index("test_") :].rstrip() for line in lines if "test_" in line}


def _run(
    endpoint: str,
    workers: int,
    arguments: list[str],
    *,
    python: str = sys.executable,
    variables: dict[str, str] | None = None,
) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            python,
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
        environment = {**os.environ, **(variables or {})}
        ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
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
