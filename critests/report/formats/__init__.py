"""What others read: each module derives one format from a run record, and can do so again at any time.

`registry` names the formats. A format is text (one file) or a tree (a folder of files); all of it is bounded,
and hostile output of containers and runtimes is inert in it.
"""

from critests.report.formats.format_table import FORMATS, Format, TextFormat, TreeFormat
from critests.report.formats.source import NotExported, Publishing, Source, load

__all__ = ["FORMATS", "Format", "NotExported", "Publishing", "Source", "TextFormat", "TreeFormat", "load"]
