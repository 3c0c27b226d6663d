"""Output to a pipe whose reader has exited, as `tee` does at Ctrl-C and `head` after its last line. The
output is lost then, but not the run, its record and its exit code.
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


def survive_broken_pipes() -> None:
    """Replace standard output and standard error by streams that survive the exit of their readers."""
    sys.stdout, sys.stderr = _lasting(sys.stdout), _lasting(sys.stderr)


def _lasting(stream: TextIO) -> TextIO:
    """Return a stream to the same descriptor that ignores a broken pipe."""
    if not isinstance(stream, io.TextIOWrapper):  # None, as the parent process has closed it
        return stream
    try:
        descriptor = stream.fileno()
    except io.UnsupportedOperation:  # not a file, such as the buffer of a test
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
    """A file that ignores a broken pipe."""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write, to /dev/null once the reader has exited."""
        try:
            return super().write(data)
        except BrokenPipeError:
            redirect_closed_pipes([self.fileno()])
            return super().write(data)


def redirect_closed_pipes(descriptors: Iterable[int] = STANDARD_STREAMS) -> None:
    """Redirect each pipe whose reader has exited to /dev/null, as writing to it would fail.

    Args:
        descriptors: File descriptors to check.
    """
    for descriptor in descriptors:
        if _has_no_reader(descriptor):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, descriptor)
            os.close(nowhere)


def _has_no_reader(descriptor: int) -> bool:
    """Whether a descriptor is a pipe or socket whose other end is closed, which poll reports as POLLERR."""
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(events & select.POLLERR for _, events in poll.poll(0))
