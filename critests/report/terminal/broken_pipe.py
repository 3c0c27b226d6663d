"""Output that nobody reads any more: who read our pipe has ended, as `tee` does at Ctrl-C, and `head` when it
has enough. What is printed is lost then; the run, its record and its exit code are not.
"""

import io
import os
import select
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

STANDARD_STREAMS = (1, 2)


def outlast_readers() -> None:
    """Let standard output and standard error go on without their readers, for the rest of this process."""
    sys.stdout, sys.stderr = _lasting(sys.stdout), _lasting(sys.stderr)


def _lasting(stream: TextIO) -> TextIO:
    """Return a stream that writes to the same place as one of Python's own, whether or not anybody reads."""
    if not isinstance(stream, io.TextIOWrapper):  # who started us has closed it, so that there is none
        return stream
    try:
        descriptor = stream.fileno()
    except io.UnsupportedOperation:  # it stays in this process
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_LastingFile(descriptor, "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


class _LastingFile(io.FileIO):
    """A descriptor that takes what is written to it, whether or not anybody reads."""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write, and go on writing to nowhere once the reader has gone."""
        try:
            return super().write(data)
        except BrokenPipeError:
            drop_what_nobody_reads([self.fileno()])
            return super().write(data)


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
