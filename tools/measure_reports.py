#!/usr/bin/env python3
"""How long and how large the report of a large run is: 1,000 tests, a tenth of them failed, with 100,000
recorded calls beside them.

    tools/measure_reports.py                      the page, JUnit and the summary
    tools/measure_reports.py --formats allure

The run is made up, from the results of a made-up test repeated; the command is the one that users call, in a
process of its own.
"""

import argparse
import dataclasses
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from critests.catalogue.words import Outcome
from critests.record.codec import to_plain
from critests.record.files import write
from critests.record.identity import RuntimeIdentity
from critests.record.layout import evidence_name
from critests.record.results import TestResult
from critests.record.run import Counts, RunRecord

TESTS, CALLS = 1000, 100_000
CALL = {
    "rpc": "ListContainers",
    "started": 1795000000.0,
    "ms": 1.5,
    "code": "OK",
    "details": "",
    "streamed": 0,
    "request": {"filter": {"label_selector": {"critests.run": "1795000000-a1b2c3"}}},
    "response": {
        "containers": [
            {"id": "f" * 64, "state": "CONTAINER_RUNNING", "labels": {"critests.run": "1795000000-a1b2c3"}}
        ]
        * 3
    },
}

PASSED = TestResult(
    id="",
    name="",
    requirement="CTR-01",
    requirement_id="CTR-01",
    area="containers",
    group="CTR",
    outcome=Outcome.PASSED,
)


def main() -> None:
    """Make the run, and report it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--formats", default="html,junit,summary", help="comma-separated, as for critests report"
    )
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="critests-large-run-") as folder:
        run = Path(folder, "run")
        run.mkdir()
        make(run)
        for name in chosen.formats.split(","):
            output = str(Path(folder, name))
            seconds, most = cost(
                [
                    sys.executable,
                    "-m",
                    "critests.cli",
                    "report",
                    str(run),
                    "--format",
                    name,
                    "--output",
                    output,
                ]
            )
            print(f"{name}: {seconds:.2f} s, {most >> 20} MiB at most")


def make(run: Path) -> None:
    """Write a run of so many tests and calls."""
    failed = TESTS // 10
    tests = []
    for number in range(TESTS):
        broken = number % 10 == 0
        name = f"containers/test_made_up.py::test_number_{number}"
        result = dataclasses.replace(PASSED, id=name, name=f"test_number_{number}")
        if broken:
            place = evidence_name(name)
            result = dataclasses.replace(
                result, outcome=Outcome.FAILED, reason="made up", seen="x" * 300, evidence=place
            )
            result = dataclasses.replace(result, detail="y\n" * 2000)
            line = json.dumps(CALL) + "\n"
            (run / place).mkdir(parents=True)
            kept = run / "calls" / f"{Path(place).name}.jsonl.gz"
            kept.parent.mkdir(exist_ok=True)
            with gzip.open(kept, "wt", encoding="utf-8", compresslevel=1) as file:
                file.write(line * (CALLS // failed))
        tests.append(result)
    outcomes = {"passed": TESTS - failed, "failed": failed}
    record = RunRecord(
        run_id="1795000000-a1b2c3",
        suite_version="0.1.0",
        started=1795000000.0,
        finished=1795000300.0,
        runtime=RuntimeIdentity(name="made-up", version="1.0"),
        tests=tests,
        counts=Counts(outcomes=outcomes, areas={"containers": outcomes}),
        exit_code=1,
    )
    assert to_plain(record)
    write(record, run / "run.json")


def cost(command: list[str]) -> tuple[float, int]:
    """Run a command and return its wall time in seconds and the most memory it had, in bytes."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    return time.perf_counter() - begin, used.ru_maxrss * 1024


if __name__ == "__main__":
    main()
