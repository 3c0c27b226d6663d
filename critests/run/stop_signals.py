"""Handling of Ctrl-C and SIGTERM, also during clean-up."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle SIGINT and SIGTERM with a function for the time of a `with`."""
    before = {number: signal.signal(number, handler) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


def wait_for(process: "subprocess.Popen[bytes]") -> int:
    """Wait for a command of critests and return its exit code; it gets the signals, cleans up and exits."""

    def forward(number: int, frame: FrameType | None) -> None:
        del frame
        if number != signal.SIGINT:  # Ctrl-C reaches the whole process group anyway
            process.send_signal(number)

    with handled_by(forward):
        return process.wait()


def say(line: bytes) -> None:
    """Print a line from a signal handler. The reader may be gone: `tee` ends at the first Ctrl-C."""
    with contextlib.suppress(OSError):
        os.write(2, b"\ncritests: " + line + b"\n")


def protect_cleanup() -> None:
    """Let no further SIGINT or SIGTERM interrupt this process: from here on it only cleans up."""
    for number in STOP_SIGNALS:
        signal.signal(number, announce_cleanup)


def announce_cleanup(number: int, frame: FrameType | None) -> None:
    """Print that clean-up goes on: the signal handler for a second Ctrl-C."""
    del number, frame
    say(b"cleaning up, please wait a moment")
