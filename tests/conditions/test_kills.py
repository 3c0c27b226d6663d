"""When and where the daemon is killed."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.conditions.kills import KILLED, KillDraws, PlannedKill
from critests.run.collected_tests import JudgedAspect

STOP = cri.StopContainerRequest()
CHANGING = """
import os, subprocess, sys, threading
def change():
    for number in range(5):
        os.mkdir(f"{number}")
        with open(f"{number}/file", "wb", buffering=0) as file:
            file.write(b"state")
            os.write(1, b"log")
            subprocess.run(["mkdir", f"{number}/by a child"])
input()
thread = threading.Thread(target=change)
thread.start()
thread.join()
"""
"""Two changes in each round: the output is its log, and a child is another process."""


def draws(test: str, seed: int, calls: int = 200) -> list[int]:
    drawn = KillDraws(seed)
    drawn.test_begins(test)
    return [drawn.change(STOP) for _ in range(calls)]


def test_about_a_quarter_of_the_calls_is_drawn_and_each_change_is_possible() -> None:
    changes = [change for seed in range(20) for change in draws("test", seed) if change]

    assert 0.15 < len(changes) / 4000 < 0.35
    assert set(changes) == set(range(1, KILLED[cri.StopContainerRequest].changes + 1))


def test_a_seed_has_one_place_and_another_seed_or_test_another() -> None:
    assert draws("test", 1) == draws("test", 1)
    assert draws("test", 1) != draws("test", 2)
    assert draws("test", 1) != draws("other", 1)


def test_there_is_no_kill_outside_a_test_after_a_kill_or_during_other_calls() -> None:
    drawn = KillDraws(1)
    assert not any(drawn.change(STOP) for _ in range(100))

    drawn.test_begins("test")
    assert not any(drawn.change(cri.ExecSyncRequest()) for _ in range(100))
    drawn.over()

    assert not any(drawn.change(STOP) for _ in range(100))


def test_every_kind_of_call_has_an_aspect_that_judges_what_follows() -> None:
    assert all(JudgedAspect.named(killed.judge) for killed in KILLED.values())


@pytest.fixture
def changing(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that changes files when its input ends."""
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", CHANGING], cwd=tmp_path, stdin=subprocess.PIPE, stdout=log, stderr=log
        )
    yield process
    process.kill()
    process.communicate()


def planned(process: "subprocess.Popen[bytes]", change: int, directory: Path) -> PlannedKill:
    try:
        return PlannedKill(process.pid, change, [directory])
    except RuntimeError as error:
        pytest.skip(str(error))


def go_on(process: "subprocess.Popen[bytes]") -> None:
    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.close()
    process.stdin = None


@pytest.mark.parametrize(("change", "system_call"), [(3, "mkdir"), (4, "write")])
def test_a_process_is_killed_before_the_change_that_was_drawn(
    changing: "subprocess.Popen[bytes]", tmp_path: Path, change: int, system_call: str
) -> None:
    kill = planned(changing, change, tmp_path)

    go_on(changing)

    assert changing.wait(10) == -signal.SIGKILL
    assert kill.end().removesuffix("at") == system_call  # mkdir is mkdirat on some machines
    assert kill.end() == kill.end()
    written = {path.name: path.read_bytes() for path in tmp_path.glob("1/file")}
    assert (tmp_path / "0" / "by a child").is_dir()
    assert written == ({} if change == 3 else {"file": b""})


def test_a_process_continues_if_the_tracer_is_ended_before(
    changing: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    with planned(changing, 1000, tmp_path) as kill:
        assert kill.end() == ""

    go_on(changing)

    assert changing.wait(10) == 0
    assert (tmp_path / "4" / "by a child").is_dir()


def test_a_process_that_has_ended_cannot_be_traced(
    changing: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    changing.kill()
    changing.wait()

    with pytest.raises(RuntimeError, match="cannot be traced"):
        PlannedKill(changing.pid, 1, [tmp_path])
