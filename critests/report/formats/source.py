"""The input of a format: a stored run, its baseline, and where it will be published."""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from critests.record.files import bounded, read
from critests.record.record_errors import RecordUnreadable
from critests.record.run_layout import UNKNOWN, RunFolder, newest_first
from critests.record.run_record import RunRecord
from critests.record.samples import read_samples
from critests.report.comparison import RunComparison, StoredRun, compare_records, read_run
from critests.report.run_kinds import VALIDATION


class NotExported(Exception):
    """A run cannot be written in this format; the message says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class Publishing:
    """Where the results will be published; every field may be empty.

    Attributes:
        job: Name of the job that the run is a build of; by default the runtime's name and version.
        bucket: Bucket and folder below which the tree is published, without `gs://`.
        mail: Addresses for alerts, separated by commas.
        url: Page of this run, such as that of its CI job.
    """

    job: str = ""
    bucket: str = ""
    mail: str = ""
    url: str = ""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A run, and what else a format needs.

    Attributes:
        record: The run.
        folder: Its folder, with evidence and samples; None if there is only the record.
        baseline: The run that it is compared with, or None.
        publishing: Where it will be published.
    """

    record: RunRecord
    folder: Path | None = None
    baseline: StoredRun | None = None
    publishing: Publishing = field(default_factory=Publishing)

    @property
    def job(self) -> str:
        """Name of the job: `critests-containerd-1.6`, for a benchmark with its kind and profile."""
        return job_name(self.publishing.job) if self.publishing.job else _job_of(self.record, self.folder)

    def compared(self) -> RunComparison | None:
        """Return the comparison with the baseline, or None without one.

        Raises:
            NotComparable: the two have nothing in common.
            RecordUnreadable: the samples are damaged.
        """
        if self.baseline is None:
            return None
        samples = read_samples(RunFolder(self.folder).samples) if self.folder else []
        return compare_records(self.baseline.record, self.record, self.baseline.samples, samples)

    @property
    def build(self) -> int:
        """Number of the build: the name of the run's folder if it is a number, else the start in seconds
        since the epoch. Later runs have larger numbers.
        """
        name = self.folder.name if self.folder else ""
        return (
            int(name) if name.isascii() and name.isdecimal() and len(name) < 16 else int(self.record.started)
        )


def load(path: Path, *, baseline: Path | None = None, publishing: Publishing | None = None) -> Source:
    """Read a stored run.

    Args:
        path: Its folder, or its `run.json`; evidence and samples are read from the folder of that file.
        baseline: The run that it is compared with, or None.
        publishing: Where it will be published.

    Raises:
        RecordUnreadable: one of the two is not a run record.
    """
    record = bounded(read(path))
    earlier = read_run(baseline) if baseline else None
    if earlier:
        earlier = replace(earlier, record=bounded(earlier.record))
    folder = (path if path.is_dir() else path.parent).resolve()
    return Source(
        record=record,
        folder=folder,
        baseline=earlier,
        publishing=publishing or Publishing(),
    )


def job_name(text: str) -> str:
    """Return a name that every reader accepts: lower case, digits, `.` and `-`, at most 100 characters."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:100].rstrip("-.") or "critests"


def _job_of(record: RunRecord, folder: Path | None) -> str:
    found = _version_of(record, folder)
    version = re.match(r"v?(\d+(?:\.\d+)?)", found)
    parts = ["critests", record.runtime.name, version[1] if version else found]
    if record.kind != VALIDATION:
        parts.append(record.kind)
    if record.benchmark and record.benchmark.profile:
        parts.append(record.benchmark.profile)
    return job_name("-".join(parts))


def _version_of(record: RunRecord, folder: Path | None) -> str:
    """Return the version of a runtime; for a run that found none to ask, that of the last run before it."""
    if record.runtime.version != UNKNOWN or folder is None:
        return record.runtime.version
    for run in newest_first(folder.parent.parent):
        try:
            earlier = read(run)
        except RecordUnreadable:
            continue
        if earlier.started < record.started and earlier.runtime.version != UNKNOWN:
            return earlier.runtime.version
    return UNKNOWN
