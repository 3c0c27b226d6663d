import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from critests.node.host.binaries import search_path
from tests.node.scenario import CASES, OWNERS

ROOT = Path(__file__).parents[2]
ISOLATED = ["unshare", "--mount", "--pid", "--net", "--ipc", "--fork", "--mount-proc", "--kill-child"]


def daemons(program: str) -> list[Path]:
    """Return the daemons of a kind on this machine: the first on PATH, and those below CRITESTS_RUNTIMES."""
    folders = [Path(part) for part in search_path().split(os.pathsep)]
    installed = next((folder / program for folder in folders if (folder / program).is_file()), None)
    further = sorted(Path(os.environ.get("CRITESTS_RUNTIMES", ROOT / ".runtimes")).glob(f"*/{program}"))
    return [*([installed] if installed else []), *further]


BINARIES = daemons("containerd") if os.geteuid() == 0 else []
CRIOS = daemons("crio") if os.geteuid() == 0 else []
ANOTHER = pytest.mark.nightly("another runtime than the distribution's")
NO_CRIO = pytest.param(None, marks=[ANOTHER, pytest.mark.skip(reason="needs root and a crio")], id="no crio")
EVERY_CONTAINERD = [
    pytest.param(path, id=str(path), marks=[ANOTHER] if path in BINARIES[1:] else []) for path in BINARIES
]
EVERY_KIND = [
    *EVERY_CONTAINERD,
    *(pytest.param(path, id=str(path), marks=ANOTHER) for path in CRIOS),
    *([] if CRIOS else [NO_CRIO]),
]
DEFAULT_CASES = ("SIGKILL and watcher", "SIGKILL and reaper", "next to a live one")
"""The cases that `make test` runs."""
FAILED_STARTS = ("daemon ends at once", "configuration is broken", "not a program")


def left_by(case: str, binary: Path) -> tuple[list[str], str]:
    command = [*ISOLATED, sys.executable, "-m", "tests.node.scenario", case, str(binary)]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=90, check=False)
    assert process.returncode == 0, process.stderr
    left: list[str] = json.loads(process.stdout.splitlines()[-1])
    return left, process.stderr


@pytest.mark.runtime
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case, marks=[] if case in DEFAULT_CASES else pytest.mark.nightly("another case of the same kind")
        )
        for case in CASES
        if case not in {*OWNERS, *FAILED_STARTS}
    ],
)
@pytest.mark.parametrize("binary", EVERY_KIND)
def test_removed_runtime_leaves_nothing(binary: Path, case: str) -> None:
    left, _ = left_by(case, binary)
    assert left == []


@pytest.mark.runtime
@pytest.mark.parametrize(
    ("case", "message"),
    [
        (
            "daemon ends at once",
            "containerd ended (the socket containerd.sock does not exist)\nThe end of its log:\nit cannot be",
        ),
        ("configuration is broken", "The end of its log:\ncontainerd: "),
        ("not a program", "cannot be run: Exec format error"),
    ],
)
def test_runtime_that_fails_to_start_leaves_nothing(case: str, message: str) -> None:
    if not BINARIES:
        pytest.skip("needs root and a containerd")
    left, output = left_by(case, BINARIES[0])
    assert left == []
    assert message in output
