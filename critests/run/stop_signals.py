"""Ctrl-C and SIGTERM: who acts on them for a while, and what is said to a second one during clean-up."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Let a function act on the signals by which a user ends a run, for the time of a `with`."""
    before = {number: signal.signal(number, handler) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


def wait_for(process: "subprocess.Popen[bytes]") -> int:
    """Wait for a command of ours and return its exit code. Signals are left to it: it cleans up, and ends."""

    def forward(number: int, frame: FrameType | None) -> None:
        del frame
        if number != signal.SIGINT:  # Ctrl-C reaches the whole group by itself
            process.send_signal(number)

    with handled_by(forward):
        return process.wait()


def say(line: bytes) -> None:
    """Print a line for a person in a signal handler; nobody may read it: `tee` ends at the first Ctrl-C."""
    with contextlib.suppress(OSError):
        os.write(2, b"\ncritests: " + line + b"\n")


def announce_cleanup(number: int, frame: FrameType | None) -> None:
    """Finish cleaning up when Ctrl-C is pressed again: a signal handler."""
    del number, frame
    say(b"cleaning up, please wait a moment")
