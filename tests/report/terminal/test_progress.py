import io

from critests.catalogue.words import Outcome
from critests.record.result_records import TestResult
from critests.report.terminal.console import new_console
from critests.report.terminal.progress import Progress


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
