"""Handling of Ctrl-C and SIGTERM, also during clean-up."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from types import FrameType

from critests.exit_codes import ExitCode
from critests.process_start import STOP_SIGNALS, leave

AGAIN_SECONDS = 0.1
"""Least time between two signals that count as two: a program that started critests may forward Ctrl-C, which
the terminal has sent to critests too.
"""
_LEAVING = b"left at once; `critests clean` removes what is left on the node"


class _Stops:
    """When the first signal came that clean-up follows, on the monotonic clock; None before it."""

    first: float | None = None


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
    """Only clean up from here on, after a SIGINT or SIGTERM; one more leaves at once."""
    _Stops.first = _Stops.first or time.monotonic()
    for number in STOP_SIGNALS:
        signal.signal(number, announce_cleanup)


def interrupt_at_stop_signals() -> None:
    """Raise KeyboardInterrupt at the first SIGINT or SIGTERM, in the pytest that critests started."""
    for number in STOP_SIGNALS:
        if signal.getsignal(number) is leave:
            signal.signal(number, interrupt)


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, and only clean up from here on: the signal handler of a run."""
    del number, frame
    protect_cleanup()
    raise KeyboardInterrupt


def announce_cleanup(number: int, frame: FrameType | None) -> None:
    """Print at the first SIGINT or SIGTERM that clean-up goes on, and leave at once at the second: the signal
    handler during clean-up.

    Its own watcher then removes a private runtime.
    """
    del number, frame
    now = time.monotonic()
    if _Stops.first is None:
        _Stops.first = now
        say(b"cleaning up, please wait a moment; once more leaves at once")
    elif now - _Stops.first >= AGAIN_SECONDS:
        say(_LEAVING)
        os._exit(ExitCode.INTERRUPTED)
