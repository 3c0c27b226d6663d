#!/usr/bin/env python3
"""A/A test: how often does a comparison of a runtime with itself report a difference?

    tools/measure_false_alarms.py --folder /var/tmp/aa containerd            40 comparisons of one minute
    tools/measure_false_alarms.py --folder /var/tmp/aa containerd --times 0   only count the existing results

Each comparison starts two private runtimes of the same binary and measures them in turn; its result is a file
in the folder, so that the script resumes after an interruption. Needs root and an otherwise idle machine.
"""

import argparse
import collections
import json
import subprocess
import sys
from pathlib import Path

CALLED = {"faster", "slower"}
"""The verdicts that are false alarms in an A/A test."""


def main() -> None:
    """Run the comparisons and count the verdicts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runtime", help="containerd, containerd=/path, crio or crio=/path")
    parser.add_argument("--folder", type=Path, required=True, help="folder of the results")
    parser.add_argument("--times", type=int, default=40, help="comparisons in all (default 40)")
    parser.add_argument(
        "--select", default="", help="scenarios, such as B-27,B-29 (default: those of compare)"
    )
    parser.add_argument("--seconds", type=int, default=60, help="of sampling in each (default 60)")
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    for number in range(chosen.times):
        file = chosen.folder / f"{number:03}.json"
        if not file.exists():
            compare(chosen.runtime, chosen.seconds, number, file, chosen.select)
        report(chosen.folder)
    if not chosen.times:
        report(chosen.folder)


def compare(runtime: str, seconds: int, seed: int, file: Path, select: str = "") -> None:
    """Run one comparison; its output goes to a log file next to the result."""
    command = [
        sys.executable,
        "-m",
        "critests.cli",
        "compare",
        runtime,
        runtime,
        "--only",
        "speed",
        "--budget",
        str(seconds),
    ]
    command += ["--seed", str(seed), "--json", str(file), "--results", str(file.parent / "results")]
    command += ["--select", select] if select else []
    with file.with_suffix(".log").open("wb") as log:
        code = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False).returncode
    if code:
        sys.exit(f"comparison {seed} exited with {code}; see {file.with_suffix('.log')}")


def report(folder: Path) -> None:
    """Print the number of verdicts of each kind."""
    counts: collections.Counter[str] = collections.Counter()
    alarms = []
    files = sorted(folder.glob("*.json"))
    for file in files:
        for operation in json.loads(file.read_text(encoding="utf-8"))["speed"]["operations"]:
            counts[operation["verdict"]] += 1
            if operation["verdict"] in CALLED:
                alarms.append(
                    f"{file.stem} {operation['scenario']} {operation['operation']}: {operation['verdict']}"
                    f" ({operation['ratio']})"
                )
    total = sum(counts.values())
    share = f"{100 * len(alarms) / total:.2f} per 100" if total else "nothing yet"
    print(
        f"{len(files)} comparisons, {total} verdicts, {len(alarms)} report a difference ({share}):"
        f" {dict(counts)}",
        flush=True,
    )
    for alarm in alarms:
        print(f"  {alarm}", flush=True)


if __name__ == "__main__":
    main()
