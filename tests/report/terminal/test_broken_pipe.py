"""Output to a pipe whose reader has exited."""

import os

from rich.text import Text

from critests.report.terminal.broken_pipe import redirect_closed_pipes
from critests.report.terminal.console import new_console


def test_output_to_a_closed_pipe_is_discarded() -> None:
    reads, writes = os.pipe()
    os.close(reads)

    redirect_closed_pipes([writes])

    assert os.write(writes, b"lost") == len(b"lost")
    os.close(writes)


def test_output_to_an_open_pipe_is_written() -> None:
    reads, writes = os.pipe()

    redirect_closed_pipes([writes])

    os.write(writes, b"read")
    assert os.read(reads, 100) == b"read"
    os.close(reads)
    os.close(writes)


def test_a_console_survives_the_exit_of_its_reader() -> None:
    reads, writes = os.pipe()
    with os.fdopen(writes, "w", encoding="utf-8") as file:
        console = new_console(file)
        os.close(reads)

        console.print(Text("lost"))
        console.print(Text("lost as well"))
