"""The run as one HTML page that needs no network."""

from critests.report.formats.source import Source
from critests.report.run_kinds import kind_of


def render(source: Source) -> str:
    """Return the page."""
    return kind_of(source.record.kind).to_html(source.record, source.folder)
