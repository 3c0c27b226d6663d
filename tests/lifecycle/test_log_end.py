import errno
import threading
import time
from pathlib import Path

import pytest

from critests.lifecycle import log_end
from critests.lifecycle.log_end import STILL_SECONDS, has_writer, wait_until_whole


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "0.log"


def test_a_file_has_a_writer_while_it_is_open_for_writing(log: Path) -> None:
    with log.open("ab"):
        assert has_writer(log) is True

    assert has_writer(log) is False


def test_a_file_that_is_open_for_reading_has_no_writer(log: Path) -> None:
    log.touch()
    with log.open("rb"):
        assert has_writer(log) is False


def test_without_leases_of_the_kernel_the_writer_is_unknown(log: Path) -> None:
    def refuses(_descriptor: int, _command: int, _argument: int) -> int:
        raise OSError(errno.EINVAL, "no leases here")

    log.touch()

    assert has_writer(log, refuses) is None


def test_a_log_is_complete_after_its_writer_closed_it(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # longer than any delay of the writer on a busy machine
    monkeypatch.setattr(log_end, "STILL_SECONDS", still := 10 * STILL_SECONDS)
    file = log.open("ab")
    more = threading.Event()

    def write() -> None:
        more.wait(5)
        for number in range(12):  # in all longer than a complete log must be unchanged, with shorter pauses
            file.write(b"%d\n" % number)
            file.flush()
            time.sleep(still / 10)
        file.close()

    writer = threading.Thread(target=write)
    writer.start()
    more.set()
    wait_until_whole(log, 30)

    assert len(log.read_bytes().splitlines()) == 12
    writer.join()


def test_a_log_that_stays_open_is_complete_when_it_does_not_change(log: Path) -> None:
    with log.open("ab") as file:
        file.write(b"all\n")
        file.flush()
        begun = time.monotonic()
        wait_until_whole(log, 10)

    assert STILL_SECONDS <= time.monotonic() - begun < 10


def test_wait_returns_at_once_for_a_complete_log(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log.touch()
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("waited"))

    wait_until_whole(log, 10)


def test_a_missing_log_costs_the_deadline_only(log: Path) -> None:
    wait_until_whole(log, 0.1)

    assert not log.exists()
