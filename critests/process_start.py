"""The first module that the `critests` command imports, and the pytest that it becomes.

The modules of both take a second to import. Ctrl-C during that time ends the process with the exit code of an
interrupted run and without a traceback. Standard library only, as everything else is imported later.
"""

import os
import signal
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 2  # ExitCode.INTERRUPTED, whose module is not imported yet


def leave(number: int, frame: FrameType | None) -> None:
    """End the process at once: the handler of both signals while there is nothing to clean up."""
    del number, frame
    os.write(2, b"critests: interrupted\n")
    os._exit(INTERRUPTED)


def leave_at_stop_signals() -> None:
    """Let SIGINT and SIGTERM end the process at once, also those that were blocked during an exec."""
    for number in STOP_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup, or a shell's background process
            signal.signal(number, leave)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


def raise_at_stop_signals() -> None:
    """Let SIGINT and SIGTERM raise KeyboardInterrupt from now on, if they end the process at once so far."""
    for number in STOP_SIGNALS:
        if signal.getsignal(number) is leave:
            signal.signal(number, signal.default_int_handler)


def block_stop_signals() -> None:
    """Defer SIGINT and SIGTERM until the program that replaces this one can handle them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
