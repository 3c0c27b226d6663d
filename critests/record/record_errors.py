"""Errors of records on disk. Each message says what to do."""

import errno
from pathlib import Path


class RecordError(Exception):
    """Base of the errors of this package."""


class RecordNotWritten(RecordError):
    """A file of a run could not be written, for instance because the disk is full."""


class RecordUnreadable(RecordError):
    """A file is not a run record that this version can read."""


class MergeRejected(RecordError):
    """Records of different runtimes or of different suites cannot be one run."""


def not_written(target: Path, error: OSError) -> RecordNotWritten:
    """Return the error that says which file or folder could not be written, and why."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        why = "no space left on the disk; free some, or choose another place with --results"
    elif error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        why = f"{error.strerror}; choose another place with --results"
    else:
        why = error.strerror or str(error)
    return RecordNotWritten(f"cannot write {target}: {why}")
