"""The summary at the end of a run, as plain text."""

import io

from critests.report.formats.source import Source
from critests.report.run_kinds import kind_of
from critests.report.terminal.console import new_console
from critests.report.wording.texts import visible


def render(source: Source) -> str:
    """Return the summary, 110 columns wide."""
    out = io.StringIO()
    kind_of(source.record.kind).print_summary(source.record, new_console(out), source.folder)
    return visible(out.getvalue())
