"""Logs of printing containers: every line exactly once, across rotated files."""

import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from critests.benchmark.measuring.meter import NotDone
from critests.benchmark.scenarios.log_throughput import (
    PrintedLines,
    RotatedLog,
    wait_for_complete_logs,
    wait_for_plain_file,
)
from critests.lifecycle.container import Container

PRINTING = PrintedLines(4, 5)


def record(text: str, tag: str = "F") -> str:
    return f"2026-11-23T20:00:00.000000001Z stdout {tag} {text}\n"


def log_at(path: Path, *lines: str) -> RotatedLog:
    path.write_text("".join(map(record, lines)), encoding="ascii")
    return RotatedLog(cast("Container", SimpleNamespace(id=path.name, log_path=path)))


COMPLETE = ("ready", "00001", "00002", "00003", "00004", "ready")


def test_lines_are_numbered_and_as_long_as_they_are_to_be(tmp_path: Path) -> None:
    PRINTING.write(tmp_path / "folder" / "lines")

    written = (tmp_path / "folder" / "lines").read_bytes()
    assert written == b"00001\n00002\n00003\n00004\n"
    assert len(written) == PRINTING.size


def test_a_complete_log_passes(tmp_path: Path) -> None:
    log = log_at(tmp_path / "0.log", *COMPLETE)

    assert log.complete
    log.check(PRINTING)
    begin = time.perf_counter()
    assert begin <= wait_for_complete_logs([log], PRINTING, 1) <= time.perf_counter()


def test_a_log_is_read_over_the_files_that_it_was_rotated_to(tmp_path: Path) -> None:
    log = log_at(tmp_path / "0.log", *COMPLETE[:3])
    request = log.rotate()
    log_at(tmp_path / "0.log", *COMPLETE[3:])

    assert request.container_id == "0.log"
    assert log.complete
    assert log.size == sum(path.stat().st_size for path in tmp_path.iterdir())
    log.check(PRINTING)


def test_a_log_rotated_after_its_last_line_is_complete(tmp_path: Path) -> None:
    log = log_at(tmp_path / "0.log", *COMPLETE)
    log.rotate()

    assert log.complete
    log.check(PRINTING)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("ready", "00001", "00002", "00004", "ready"), "1 are lost and 0 are extra"),
        (("ready", "00001", "00002", "00002", "00003", "00004", "ready"), "0 are lost and 1 are extra"),
        (("ready", "00002", "00001", "00003", "00004", "ready"), "0 are lost and 0 are extra"),
    ],
    ids=["lost", "doubled", "out of order"],
)
def test_lost_duplicated_and_reordered_lines_are_detected(
    tmp_path: Path, lines: tuple[str, ...], message: str
) -> None:
    with pytest.raises(NotDone, match=message):
        log_at(tmp_path / "0.log", *lines).check(PRINTING)


def test_an_unreadable_log_is_an_error(tmp_path: Path) -> None:
    log = log_at(tmp_path / "0.log")
    (tmp_path / "0.log").write_text("ready\n", encoding="ascii")

    with pytest.raises(NotDone, match="cannot be read"):
        log.check(PRINTING)


def test_logs_that_never_end_are_given_up(tmp_path: Path) -> None:
    log = log_at(tmp_path / "0.log", *COMPLETE[:-1])

    with pytest.raises(NotDone, match="the last line in each of 1 logs"):
        wait_for_complete_logs([log], PRINTING, 1e-4)
    with pytest.raises(NotDone, match="plain file"):
        wait_for_plain_file(tmp_path / "none", PRINTING, 1e-4)
