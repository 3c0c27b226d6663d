"""Names the modules that are near the limit of length, after the tests of the house ran."""

import pytest

from tests.house import tree

WORTH_A_LOOK = 400
LONGEST = 500


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each module that is over 400 lines, which is still allowed."""
    if not any("tests/house" in report.nodeid for report in terminalreporter.getreports("passed")):
        return
    for path in tree.python_files():
        if WORTH_A_LOOK < (lines := len(path.read_text(encoding="utf-8").splitlines())) <= LONGEST:
            terminalreporter.write_line(
                f"{tree.named(path)}: {lines} lines; worth a look (over {LONGEST} is refused)"
            )
