"""A program that starts `critests run --node`, kills its daemon or its leader, and prints how it ended.

    python -m tests.node.killed_run VICTIM SECONDS BINARY

It runs in namespaces of its own, like `tests.node.scenario`, so that whatever is left is the run's.
"""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from critests.node.run_state.run_directories import RUNS
from tests.node.machine_snapshot import MachineSnapshot, difference, mentioning
from tests.node.scenario import isolate, processes

DAEMON, LEADER = "daemon", "leader"
MORE_SECONDS = 25.0
"""How long after the kill the run begins no more tests: enough for a restart of the daemon."""
END_SECONDS = 120.0
"""For a test that still runs then, the judgement and the clean-up."""
START_SECONDS = 30.0
REMOVAL_SECONDS = 60.0
SETTLE_SECONDS = 5.0
"""The kernel removes network namespaces and cgroups asynchronously."""
RESULTS = Path("/tmp/results")
ALLOWED = (str(RESULTS), "/run/crun")
"""crun makes its directory also when it is asked for its version."""


@dataclass(frozen=True)
class End:
    """How a run ended.

    Attributes:
        code: its exit code, negative for a signal.
        words: what it wrote to standard error.
        reason: `exit_reason` of its record; empty without one.
        failed: the aspects with a failed test, each with the reason.
        errors: tests in which the suite failed, each with the reason.
        passed: how many tests passed.
        left: what is left on the machine.
        seconds: from the kill until everything was removed.
    """

    code: int
    words: str
    reason: str
    failed: dict[str, str]
    errors: dict[str, str]
    passed: int
    left: list[str]
    seconds: float


def daemon_of_run(leader: int, binary: Path) -> int:
    """Return the process of the run's daemon, once there is one; those of single tests are started by
    workers.
    """
    end = time.monotonic() + START_SECONDS
    # its configuration is there; a process without is asked for the version
    while not (
        found := [pid for pid in processes(f"{RUNS}/") if is_daemon(pid, binary) and parent(pid) == leader]
    ):
        if time.monotonic() > end:
            raise TimeoutError("the run started no daemon")
        time.sleep(0.02)
    return found[0]


def parent(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    return int(status.partition("\nPPid:")[2].split()[0])


def is_daemon(pid: int, binary: Path) -> bool:
    try:
        return Path(f"/proc/{pid}/exe").readlink() == binary.resolve()
    except OSError:
        return False


def kill(victim: str, seconds: float, binary: Path) -> End:
    before = MachineSnapshot.take()
    command = [sys.executable, "-m", "critests.cli", "run", "--node", f"{binary.name}={binary}"]
    command += ["--profile", "full", "-n", "2", "--time-limit", f"{seconds + MORE_SECONDS}s"]
    run = subprocess.Popen(
        [*command, "--results", str(RESULTS)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(seconds)
    pid = daemon_of_run(run.pid, binary) if victim == DAEMON else run.pid
    ids = [path.name for path in RUNS.glob("[0-9]*")]
    os.kill(pid, signal.SIGKILL)
    killed = time.monotonic()
    _, words = run.communicate(timeout=END_SECONDS)
    end = time.monotonic() + REMOVAL_SECONDS
    while (RUNS.exists() or processes("critests")) and time.monotonic() < end:
        time.sleep(0.05)
    took = time.monotonic() - killed
    end = time.monotonic() + SETTLE_SECONDS
    while (left := changes(before, ids)) and time.monotonic() < end:
        time.sleep(0.05)
    records = [json.loads(path.read_text(encoding="utf-8")) for path in RESULTS.rglob("run.json")]
    tests = [test for record in records for test in record["tests"]]
    return End(
        code=run.returncode,
        words=words,
        reason=" ".join(record["exit_reason"] for record in records),
        failed={test["requirement"]: test["reason"] for test in tests if test["outcome"] == "failed"},
        errors={test["id"]: test["reason"] for test in tests if test["outcome"] == "error"},
        passed=sum(test["outcome"] == "passed" for test in tests),
        left=left,
        seconds=round(took, 1),
    )


def changes(before: MachineSnapshot, ids: list[str]) -> list[str]:
    """Return what is left; of the cgroups, which are the machine's, those that have the name of the run."""
    found = difference(before, MachineSnapshot.take())
    cgroups = mentioning((change for change in found if change.kind == "cgroup"), ids)
    others = [change for change in found if change.kind != "cgroup" and change.thing not in ALLOWED]
    return [str(change) for change in (*cgroups, *others)]


if __name__ == "__main__":
    isolate()
    print(json.dumps(asdict(kill(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])))))
