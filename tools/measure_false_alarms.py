#!/usr/bin/env python3
"""A/A: how often does a comparison of a runtime with itself call a difference, or nothing at all?

    tools/measure_false_alarms.py --folder /var/tmp/aa containerd            40 comparisons of a minute each
    tools/measure_false_alarms.py --folder /var/tmp/aa containerd --times 0   only count what is there

Each comparison starts two private runtimes of the same binary and measures them in turn; its result is a file
in the folder, so that the script goes on where it was stopped. Needs root and a machine that does nothing
else.
"""

import argparse
import collections
import json
import subprocess
import sys
from pathlib import Path

CALLED = {"faster", "slower"}
"""What says that a runtime differs from itself; `too noisy` says that nothing is proven."""


def main() -> None:
    """Compare, and count."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runtime", help="containerd, containerd=/path, crio or crio=/path")
    parser.add_argument("--folder", type=Path, required=True, help="where the comparisons are kept")
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
    """Make one comparison; what it prints goes beside its file."""
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
        sys.exit(f"comparison {seed} ended with {code}; see {file.with_suffix('.log')}")


def report(folder: Path) -> None:
    """Print how many verdicts there are of each kind."""
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
        f"{len(files)} comparisons, {total} verdicts, {len(alarms)} call a difference ({share}):"
        f" {dict(counts)}",
        flush=True,
    )
    for alarm in alarms:
        print(f"  {alarm}", flush=True)


if __name__ == "__main__":
    main()
