"""The run record itself."""

from critests.record.files import to_json
from critests.report.formats.source import Source


def render(source: Source) -> str:
    """Return the record; one of an older version is brought to the present one."""
    return to_json(source.record)
