import os
import subprocess
import sys
from pathlib import Path

import pytest

from critests.node.run_state import locks, run_directories
from critests.node.run_state.locks import (
    FileLock,
    LockHeld,
    ProcessIdentity,
    RunHold,
    is_held,
    known_runs,
    run_is_live,
)


@pytest.fixture(autouse=True)
def directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(run_directories, "RUNS", tmp_path / "run")
    monkeypatch.setattr(run_directories, "FILES", tmp_path / "lib")
    return tmp_path


def test_lock_excludes_others_until_it_is_released(tmp_path: Path) -> None:
    path = tmp_path / "deep/lock"
    with FileLock(path):
        assert is_held(path)
        assert not FileLock(path).try_acquire()
        with pytest.raises(LockHeld, match="held by another process"):
            FileLock(path).acquire(seconds=0.05)
    assert not is_held(path)


def test_lock_is_acquired_on_the_new_file_after_its_file_was_removed(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert first.try_acquire()
    (tmp_path / "lock").unlink()
    assert second.try_acquire()
    first.release()
    assert is_held(tmp_path / "lock")
    second.release(remove=True)
    assert not (tmp_path / "lock").exists()


def test_run_is_live_while_its_lock_is_held() -> None:
    with RunHold("1-abc") as hold:
        assert run_is_live("1-abc")
        assert known_runs() == {"1-abc": True}
        with pytest.raises(LockHeld):
            FileLock(run_directories.run_dir("1-abc") / "lock").acquire(seconds=0)
        hold.release()
        assert not run_is_live("1-abc")
    assert known_runs() == {}


def test_the_next_run_removes_the_directory_of_one_that_was_killed_before_it_created_anything() -> None:
    for run_id in ("1-empty", "2-live", "3-runtime"):
        (run_directories.run_dir(run_id)).mkdir(parents=True)
        (run_directories.run_dir(run_id) / "lock").touch()
    (run_directories.run_dir("3-runtime") / "node/containerd-1").mkdir(parents=True)

    with FileLock(run_directories.run_dir("2-live") / "lock"), RunHold("4-abc"):
        assert sorted(known_runs()) == ["2-live", "3-runtime", "4-abc"]


def test_run_is_live_while_one_of_its_private_runtimes_is_locked() -> None:
    with FileLock(run_directories.run_dir("1-abc") / "node/containerd-1/lock"):
        assert run_is_live("1-abc")
    assert not run_is_live("1-abc")
    assert known_runs() == {"1-abc": False}


def test_lock_is_released_when_its_process_dies(tmp_path: Path) -> None:
    held = (
        "l = FileLock(Path(sys.argv[1])); l.acquire(seconds=1); print('held', flush=True); sys.stdin.read()"
    )
    code = f"import sys; from pathlib import Path; from critests.node.run_state.locks import FileLock; {held}"
    root = Path(locks.__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "lock"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=root,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        assert is_held(tmp_path / "lock")
        process.kill()
    assert not is_held(tmp_path / "lock")


def test_process_identity_includes_start_time_and_boot_id() -> None:
    this = ProcessIdentity.of(os.getpid())
    assert this.alive
    assert not ProcessIdentity(this.pid, this.started + 1, this.boot).alive
    assert not ProcessIdentity(this.pid, this.started, "another boot").alive


def test_a_zombie_is_not_alive() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with process:
        identity = ProcessIdentity.of(process.pid)
        seen = [identity.alive]
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        seen.append(identity.alive)
    assert seen == [True, False]
    with pytest.raises(ProcessLookupError):
        ProcessIdentity.of(process.pid)
