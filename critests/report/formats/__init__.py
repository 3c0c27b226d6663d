"""Formats of other tools: each module derives one format from a stored run.

`format_table` lists them. A format is a text (one file) or a tree (a directory). All are bounded in size, and
output of containers and runtimes is escaped.
"""

from critests.report.formats.format_table import FORMATS, Format, TextFormat, TreeFormat
from critests.report.formats.source import NotExported, Publishing, Source, load

__all__ = ["FORMATS", "Format", "NotExported", "Publishing", "Source", "TextFormat", "TreeFormat", "load"]
