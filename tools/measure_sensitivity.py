#!/usr/bin/env python3
"""Sensitivity: does a comparison detect a delay of a few milliseconds in the OCI runtime's start, and report
no other operation as slower?

    tools/measure_sensitivity.py --folder /var/tmp/sensitivity containerd      ten times 5 ms in three minutes
    tools/measure_sensitivity.py --folder /var/tmp/sensitivity containerd --delay 20 --seconds 60

Both sides have the same wrapper around their OCI runtime; at each start of a container or sandbox it waits 0
ms on one side and the delay on the other. The wrapper's own cost is measured and printed. The result of each
comparison is a file, so that the script resumes after an interruption. Needs root and an otherwise idle
machine.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from critests.images.ports import DEFAULT_PORT
from critests.images.registry_client import PAUSE_REPOSITORY
from critests.lifecycle.run_label import RunIdentity
from critests.node.run_state.locks import RunHold
from critests.node.starting.start_runtime import start_throwaway
from critests.node.starting.targets import parse_throwaway
from critests.node.starting.throwaway import ThrowawayRuntime
from critests.node.wrappers.actions import Delay
from critests.node.wrappers.cost import own_cost
from critests.node.wrappers.wrapped_programs import WrappedPrograms

CHANGED = {"StartContainer", "RunPodSandbox", "pod start", "pod cycle"}
"""The operations that include a start by the OCI runtime."""
EITHER = {"CreateContainer"}
"""A runtime may run this step here instead, so a slower verdict is neither expected nor wrong."""


def main() -> None:
    """Run the comparisons and count the correct ones."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runtime", help="containerd, containerd=/path, crio or crio=/path")
    parser.add_argument("--folder", type=Path, required=True, help="folder of the results")
    parser.add_argument(
        "--delay", type=float, default=5.0, help="milliseconds added to each start (default 5)"
    )
    parser.add_argument("--times", type=int, default=10, help="comparisons (default 10)")
    parser.add_argument("--seconds", type=int, default=180, help="of sampling in each (default 180)")
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    cost = own_cost("oci")
    print(
        f"the wrapper alone: {1000 * cost.empty:.2f} ms per call, {1000 * cost.delay:.2f} ms with a wait"
        " of 0",
        flush=True,
    )
    found = []
    for number in range(chosen.times):
        file = chosen.folder / f"{chosen.delay:g}ms-{chosen.seconds}s-{number:03}.json"
        if not file.exists():
            attempt(chosen.runtime, chosen.delay / 1000, chosen.seconds, number, file)
        found.append(judged(file))
        print(f"{file.stem}: {found[-1] or 'correct'}", flush=True)
    right = sum(not each for each in found)
    print(
        f"{right} of {len(found)} comparisons reported the delay of {chosen.delay:g} ms as slower, and no"
        " other operation"
    )


def attempt(runtime: str, delay: float, seconds: int, seed: int, file: Path) -> None:
    """Start both sides and compare them."""
    run = RunIdentity.new()
    with RunHold(run.id), start(runtime, run) as a, start(runtime, run) as b:
        for side, wait in ((a, 0.0), (b, delay)):
            assert side.wrappers.oci is not None
            side.wrappers.oci.plan({"start": [Delay(wait)]})
        command = [
            sys.executable,
            "-m",
            "critests.cli",
            "compare",
            a.endpoint,
            b.endpoint,
            "--only",
            "speed",
            "--select",
            "B-11",
        ]
        command += [
            "--budget",
            str(seconds),
            "--seed",
            str(seed),
            "--json",
            str(file),
            "--results",
            str(file.parent / "results"),
        ]
        with file.with_suffix(".log").open("wb") as log:
            code = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False).returncode
    if code:
        sys.exit(f"comparison {seed} exited with {code}; see {file.with_suffix('.log')}")


def start(runtime: str, run: RunIdentity) -> ThrowawayRuntime:
    """Start one side; it uses the registry of the comparison."""
    choice = parse_throwaway(runtime)
    addresses = [f"127.0.0.1:{port}" for port in range(DEFAULT_PORT, DEFAULT_PORT + 10)]
    pause = f"{addresses[0]}/{PAUSE_REPOSITORY}:1"
    return start_throwaway(
        choice.kind,
        run_id=run.id,
        pause_image=pause,
        registry_addresses=addresses,
        binary=choice.binary,
        wrapped=WrappedPrograms(oci=True),
    )


def judged(file: Path) -> str:
    """Return the errors in the verdicts of a comparison; empty if all are correct."""
    operations: list[Mapping[str, str]] = json.loads(file.read_text(encoding="utf-8"))["speed"]["operations"]
    verdicts = {each["operation"]: each["verdict"] for each in operations if each["scenario"] == "B-11"}
    missed = [f"missed: {name}" for name in ("StartContainer",) if verdicts.get(name) != "slower"]
    wrong = [
        f"wrongly slower: {name}"
        for name, verdict in verdicts.items()
        if verdict == "slower" and name not in CHANGED | EITHER
    ]
    return "; ".join([*missed, *wrong])


if __name__ == "__main__":
    main()
