"""Output that nobody reads any more."""

import os

from rich.text import Text

from critests.report.terminal.broken_pipe import drop_what_nobody_reads
from critests.report.terminal.console import new_console


def test_what_nobody_reads_goes_nowhere() -> None:
    reads, writes = os.pipe()
    os.close(reads)

    drop_what_nobody_reads([writes])

    assert os.write(writes, b"lost") == len(b"lost")
    os.close(writes)


def test_what_somebody_reads_arrives() -> None:
    reads, writes = os.pipe()

    drop_what_nobody_reads([writes])

    os.write(writes, b"told")
    assert os.read(reads, 100) == b"told"
    os.close(reads)
    os.close(writes)


def test_a_console_outlasts_its_reader() -> None:
    reads, writes = os.pipe()
    with os.fdopen(writes, "w", encoding="utf-8") as file:
        console = new_console(file)
        os.close(reads)

        console.print(Text("lost"))
        console.print(Text("lost as well"))
