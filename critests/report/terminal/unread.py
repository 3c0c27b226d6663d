"""Output that nobody reads any more: who read our pipe has ended, as `tee` does at Ctrl-C, and `head` when it
has enough. What is printed is lost then; the run and its record are not.
"""

import os
import select
from collections.abc import Iterable

STANDARD_STREAMS = (1, 2)


def drop_what_nobody_reads(descriptors: Iterable[int] = STANDARD_STREAMS) -> None:
    """Let writing to a pipe whose reader is gone go nowhere, where it would fail.

    Args:
        descriptors: of the streams to look at.
    """
    for descriptor in descriptors:
        if _is_unread(descriptor):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, descriptor)
            os.close(nowhere)


def _is_unread(descriptor: int) -> bool:
    """Say whether a stream is a pipe, or a socket, whose other end is closed."""
    asked = select.poll()
    asked.register(descriptor, 0)
    return any(events & select.POLLERR for _, events in asked.poll(0))
