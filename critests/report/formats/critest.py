"""Samples in the files of critest."""

from pathlib import Path

from critests.record.errors import RecordUnreadable
from critests.record.layout import RunFolder
from critests.record.samples import Series, read_samples
from critests.report.formats.source import NotExported, Source
from critests.report.incumbent_export import write_incumbent


def write_tree(source: Source, root: Path) -> list[Path]:
    """Write the files that critest would have written.

    Raises:
        NotExported: there are no samples, or none of what critest measures.
        RecordNotWritten: a file could not be written.
    """
    written = write_incumbent(source.record, _samples(source), root)
    if not written:
        msg = "the run measured no whole cycle of what critest measures: containers, pods or images"
        raise NotExported(msg)
    return written


def _samples(source: Source) -> list[Series]:
    try:
        series = read_samples(RunFolder(source.folder).samples) if source.folder else []
    except RecordUnreadable as error:
        raise NotExported(str(error)) from error
    if not series:
        msg = "there are no samples beside the run record: it is no benchmark, or only its run.json was kept"
        raise NotExported(msg)
    return series
