"""A stored run: its record and its samples."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from critests.record.files import read, record_file
from critests.record.record_errors import RecordUnreadable
from critests.record.run_layout import RUN_FILE, RunFolder, newest_run
from critests.record.run_record import RunRecord
from critests.record.samples import Series, read_samples


@dataclass(frozen=True)
class StoredRun:
    """A stored run.

    Attributes:
        record: Its record.
        samples: Its samples; empty for a validation run.
        folder: Its folder, or None.
    """

    record: RunRecord
    samples: Sequence[Series] = field(default_factory=list)
    folder: Path | None = None

    @property
    def two_sided(self) -> bool:
        """Whether it is a live comparison of two sides."""
        return any(series.side for series in self.samples) or any(
            operation.side for operation in self.record.operations
        )


def read_run(path: Path) -> StoredRun:
    """Read a run from its folder or from its `run.json`.

    Raises:
        RecordUnreadable: the record or its samples are missing, truncated, or of an unknown schema version.
    """
    if path.is_dir() and not record_file(path).exists():
        newest = newest_run(path)
        below = f"; the newest run below it is {newest}" if newest else ""
        msg = f"{path} is not the folder of a run: it has no {RUN_FILE}{below}"
        raise RecordUnreadable(msg)
    folder = path if path.is_dir() else path.parent
    record = read(path)
    try:
        samples = read_samples(RunFolder(folder).samples)
    except zlib.error as error:
        msg = f"the samples of {folder} are damaged: {error}"
        raise RecordUnreadable(msg) from error
    return StoredRun(record, samples, folder)
