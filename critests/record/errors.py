"""What can go wrong with a record on disk. Each message is a sentence that a person can act on."""


class RecordError(Exception):
    """Base of the errors of this room."""


class RecordNotWritten(RecordError):
    """A file of a run could not be written, for instance because the disk is full."""


class RecordUnreadable(RecordError):
    """A file is not a run record that this version can read."""


class MergeRefused(RecordError):
    """Records of different runtimes or of different suites cannot be one run."""
