import dataclasses
import io
from pathlib import Path

import pytest

from critests.catalogue.words import Outcome
from critests.record.results import TestResult
from critests.record.run import RunRecord
from critests.report.progress import Progress
from critests.report.terminal import new_console, print_summary
from tests.report.sample_run import sample_run


def summary(record: RunRecord, run_dir: Path | None = None, **more: int) -> str:
    file = io.StringIO()
    print_summary(record, run_dir=run_dir, console=new_console(file), **more)
    return file.getvalue()


def test_a_person_finds_everything_about_a_failure(tmp_path: Path) -> None:
    text = summary(sample_run(tmp_path), tmp_path)

    assert "critests 0.1.0 · containerd 1.6.20~ds1 · unix:///run/containerd/containerd.sock" in text
    row = next(line.split() for line in text.splitlines() if line.startswith(" containers"))
    assert row == ["containers", "30", "1", "2", "·", "·", "·", "·", "·"]
    assert "STP-02 MUST · test_stp_02_a_process_that_handles[case 2]" in text
    assert "expected exit_code == 7" in text
    assert "seen     exit_code == 137" in text
    assert f"evidence {tmp_path}/evidence/containers.test_stp" in text
    assert (
        "repeat   critests run --select STP-02 --runtime-endpoint unix:///run/containerd/containerd.sock\n"
        in text
    )


def test_root_causes_come_first_and_blocked_tests_are_grouped(tmp_path: Path) -> None:
    text = summary(sample_run(tmp_path))

    assert text.index("Root causes (1)") < text.index("Failures (6)") < text.index("Warned (2)")
    assert "EXE-01 Exec · blocks 7 tests" in text
    assert "   7  EXE-01 stood in the way (Exec)" in text
    assert "   4  needs --disruptive" in text
    assert "https://example.org/issues/1" in text
    assert text.rstrip().splitlines()[-1].startswith("exit 3: the harness itself failed in 1 test")


def test_output_of_containers_cannot_steer_the_terminal(tmp_path: Path) -> None:
    text = summary(sample_run(tmp_path))

    assert not {
        char
        for char in text
        if (ord(char) < 32 and char != "\n") or 0x7F <= ord(char) < 0xA0 or 0xD800 <= ord(char) < 0xE000
    }
    assert "\u202e" not in text
    assert "\\u202e" in text


def test_a_run_of_failures_stays_readable(tmp_path: Path) -> None:
    record = sample_run(tmp_path)
    failed = [
        dataclasses.replace(
            test, outcome=Outcome.FAILED, seen="x" * 100_000, detail="y" * 100_000, requirement=f"A-{number}"
        )
        for number, test in enumerate(record.tests * 8)
    ]

    text = summary(dataclasses.replace(record, tests=failed), tmp_path, full=5)

    assert f"… and {len(failed) - 5:,} more failures, in {tmp_path}/run.json" in text
    assert len(text) < 20_000


def test_text_that_is_no_terminal_is_plain_and_of_a_sane_width(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)

    text = summary(sample_run(tmp_path))

    assert "\x1b" not in text
    free = [
        line
        for line in text.splitlines()
        if not line.strip().startswith(("evidence", "repeat", "record", "exit"))
    ]
    assert max(len(line) for line in free) <= 110


def test_a_green_run_says_so_in_a_line(tmp_path: Path) -> None:
    record = sample_run(tmp_path)
    green = dataclasses.replace(
        record, tests=[], root_causes=[], exit_code=0, exit_reason="every MUST that could be tested is kept"
    )

    assert "exit 0: every MUST that could be tested is kept" in summary(green)
    assert "Failures" not in summary(green)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_progress_without_a_terminal_is_a_line_now_and_then() -> None:
    file, clock = io.StringIO(), Clock()
    progress = Progress(new_console(file), clock=clock)

    progress.started(100)
    for number in range(100):
        clock.now += 0.2
        outcome = Outcome.FAILED if number == 7 else Outcome.PASSED
        progress.test(
            TestResult(
                id=f"t{number}",
                name=f"t{number}",
                outcome=outcome,
                area="images",
                reason="no\x1b[31m",
                requirement="A-1",
            )
        )
    progress.finished()
    progress.finished()

    lines = file.getvalue().splitlines()
    assert lines[0] == "running 100 tests"
    assert lines[1] == "failed A-1 t7: no"
    assert lines[2] == "25/100  24 passed, 1 failed · images · 5.00 s"
    assert lines[-1] == "100/100  99 passed, 1 failed · images · 20.0 s"
    assert len(lines) < 9


def test_progress_on_a_terminal_draws_and_leaves_nothing_but_failures() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    file = Terminal()
    progress = Progress(new_console(file, width=80))
    progress.started(2)
    progress.running("test_a")
    progress.test(TestResult(id="a", name="test_a", outcome=Outcome.PASSED))
    progress.test(TestResult(id="b", name="test_b", outcome=Outcome.ERROR, reason="the harness"))
    progress.finished()

    assert "test_b: the harness" in file.getvalue()
