#!/usr/bin/env python3
"""How long a person waits before anything happens, as multiples of what importing gRPC and pytest takes in
the same round: of wall time, and of processor time, which other work on the machine changes less. The second
table in docs/speed.md is made with this.

usage: tools/measure_startup.py [--node containerd=/path/to/containerd] [--rounds 5]

Starts one throwaway runtime for the rows about a first test. Python's cache of compiled modules is used, as
it is by whoever runs an installed critests; the first round fills it and is not counted.
"""

import argparse
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from critests.client.listening import GREETING_SECONDS
from critests.node.subjects import parse_throwaway
from critests.node.with_registry import throwaway_with_registry

BASE = "import grpc, pytest"
FIRST = "GEN-01"
"""What the row about a first test selects: single calls."""
SEVERAL = "GEN"
"""What the row with two workers selects: enough tests for two."""


class Taken(NamedTuple):
    """What a row took: seconds that a person waits, and of processor time until its command ends."""

    seconds: float
    processor: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--node", default="containerd")
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    node = parse_throwaway(chosen.node)
    with (
        tempfile.TemporaryDirectory() as folder,
        throwaway_with_registry(node.kind, binary=node.binary) as (runtime, _),
        socket.socket(socket.AF_UNIX) as mute,
    ):
        mute.bind(f"{folder}/mute.sock")
        mute.listen()
        print(f"{runtime.runtime_name} {runtime.version}, {chosen.rounds} rounds")
        _print(_measured(_rows(runtime.endpoint, f"{folder}/mute.sock", Path(folder)), chosen.rounds))


def _rows(endpoint: str, mute: str, folder: Path) -> dict[str, Callable[[], Taken]]:
    def on(where: str, *more: str) -> list[str]:
        return ["run", "--runtime-endpoint", where, "--results", str(folder / "results"), *more]

    return {
        BASE: lambda: _took(["-c", BASE], 0),
        "--help": lambda: _took(_critests("--help"), 0),
        "run --help": lambda: _took(_critests("run", "--help"), 0),
        "wrong socket": lambda: _took(_critests(*on(f"{folder}/nobody.sock")), 5),
        f"mute socket, beyond its {GREETING_SECONDS:g} s": (
            lambda: _after(GREETING_SECONDS, _took(_critests(*on(mute)), 5))
        ),
        "run --list": lambda: _took(_critests("run", "--list"), 0),
        "first test, alone": lambda: _until_first_test(on(endpoint, "--select", FIRST), folder),
        "first test, -n 2": lambda: _until_first_test(on(endpoint, "--select", SEVERAL, "-n", "2"), folder),
    }


def _measured(rows: dict[str, Callable[[], Taken]], rounds: int) -> dict[str, list[Taken]]:
    """Return the seconds of every row, measured in turns, so that a busy moment is everybody's."""
    seconds: dict[str, list[Taken]] = {name: [] for name in rows}
    for number in range(rounds + 1):
        for name, measure in rows.items():
            taken = measure()
            if number:
                seconds[name].append(taken)
    return seconds


def _print(seconds: dict[str, list[Taken]]) -> None:
    print(f"{'':<36} {'median s':>9} {'times base':>11} {'lowest':>7} {'highest':>8} {'processor':>10}")
    for name, taken in seconds.items():
        pairs = list(zip(taken, seconds[BASE], strict=True))
        ratios = [own.seconds / base.seconds for own, base in pairs]
        processor = statistics.median(own.processor / base.processor for own, base in pairs)
        median = statistics.median(own.seconds for own in taken)
        print(
            f"{name:<36} {median:>9.2f} {statistics.median(ratios):>11.1f} {min(ratios):>7.1f}"
            f" {max(ratios):>8.1f} {processor:>10.1f}"
        )


def _critests(*arguments: str) -> list[str]:
    return ["-P", "-m", "critests.cli", *arguments]


def _took(arguments: list[str], ends_with: int) -> Taken:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, begun = _processor(), time.perf_counter()
    ended = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, check=False
    )
    taken = Taken(time.perf_counter() - begun, _processor() - before)
    if ended.returncode != ends_with:
        sys.exit(
            f"{arguments} ended with {ended.returncode}:\n{ended.stdout[-2000:]}\n{ended.stderr[-2000:]}"
        )
    return taken


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _after(seconds: float, taken: Taken) -> Taken:
    return Taken(taken.seconds - seconds, taken.processor)


def _until_first_test(arguments: list[str], folder: Path) -> Taken:
    begun = time.time()
    whole = _took(_critests(*arguments, "--json", str(folder / "run.json")), 0)
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    first = float(record["started"]) + float(record["timing"]["startup_seconds"])
    return Taken(first - begun, whole.processor)


if __name__ == "__main__":
    main()
