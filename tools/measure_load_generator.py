#!/usr/bin/env python3
"""What the load generator itself can do here: how many starts of an open loop come late against a server that
does nothing.

usage: tools/measure_load_generator.py [--rate 50] [--seconds 60] [--processes 1] [--times 3]

The claims in docs/load.md about late starts are made with this. A start is late if it comes more than 10 ms
after it was intended. Do it on the machine from which you mean to put load on, with nothing else going on
there. Needs the extra `load`.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from critests.benchmark.floors.noise import StealMeter
from critests.benchmark.floors.null_server import start_null_server

MIX = "pod"


def main() -> None:
    """Put the load on, and say what came late."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rate", type=float, default=50.0, help="pod cycles a second (default 50)")
    parser.add_argument("--seconds", type=int, default=60, help="measured time of each (default 60)")
    parser.add_argument("--processes", type=int, default=1, help="worker processes (default 1)")
    parser.add_argument("--times", type=int, default=3, help="of each kind of arrivals (default 3)")
    chosen = parser.parse_args()
    steal = StealMeter()
    for arrivals in ("constant", "poisson"):
        for seed in range(chosen.times):
            started, late = attempt(arrivals, seed, chosen.rate, chosen.seconds, chosen.processes)
            print(
                f"{arrivals:<9} {started} pod cycles at {chosen.rate:g}/s, {late} late: {late / started:.2%}",
                flush=True,
            )
    share = steal.share()
    print(f"time that other guests took meanwhile: {'not counted here' if share is None else f'{share:.1%}'}")


def attempt(arrivals: str, seed: int, rate: float, seconds: int, processes: int) -> tuple[int, int]:
    """Return how many cycles were started in the measured time, and how many of them late."""
    with tempfile.TemporaryDirectory() as folder, start_null_server(Path(folder)) as server:
        record = Path(folder) / "run.json"
        command = [
            sys.executable,
            "-m",
            "critests.cli",
            "load",
            "--runtime-endpoint",
            server.endpoint,
            "--results",
            folder,
        ]
        command += [
            "--mix",
            MIX,
            "--rate",
            str(rate),
            "--arrivals",
            arrivals,
            "--seed",
            str(seed),
            "--duration",
            str(seconds),
        ]
        command += ["--processes", str(processes), "--json", str(record)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            sys.exit(f"critests load ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
        operations = json.loads(record.read_text(encoding="utf-8"))["operations"]
    whole = next(each for each in operations if each.get("late_share") is not None)
    return whole["count"], round(whole["late_share"] * whole["count"])


if __name__ == "__main__":
    main()
