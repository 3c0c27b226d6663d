"""Building the site: selecting and writing its pages."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from critests.record.files import write_atomically
from critests.record.record_errors import RecordError, RecordNotWritten
from critests.report.comparison.html import comparison_to_html
from critests.report.dashboard import pages
from critests.report.dashboard.lines import all_versions, lines, promises
from critests.report.dashboard.site_comparisons import compared, pairs
from critests.report.store import Index

MANIFEST: Final = "critests-site.json"
LINES_LIMIT: Final = 60
"""Number of versions of runtimes with their own pages, those with the newest runs; the others are only in the
grids of all versions.
"""


class SiteNotWritten(RecordError):
    """The site cannot be written there; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a site.

    Attributes:
        title: Heading of the overview.
        now: Time of generation, seconds since the epoch; ages are relative to it.
        results: Root of all results, for comparisons of runs; None for no comparisons.
        run_links: Prefix of links to the folders of runs, such as `../results/`; empty for no links.
    """

    title: str = "CRI runtimes, night by night"
    now: float = 0.0
    results: Path | None = None
    run_links: str = ""


@dataclass(frozen=True)
class Built:
    """Numbers of a build.

    Attributes:
        pages: Number of HTML pages.
        written: Number of files that are new or changed.
        removed: Number of files of the last build that are not part of this one.
    """

    pages: int
    written: int
    removed: int


@dataclass
class _Writer:
    """Writes files that are new or changed, and collects the names of all.

    Attributes:
        folder: Folder of the site.
        names: All files.
        written: Number of files that were written.
    """

    folder: Path
    names: list[str] = field(default_factory=list)
    written: int = 0

    def write(self, name: str, content: str) -> None:
        """Write a file unless it already has this content."""
        data = content.encode("utf-8", "replace")
        target = self.folder / name
        self.names.append(name)
        try:
            if target.is_file() and target.stat().st_size == len(data) and target.read_bytes() == data:
                return
            write_atomically(target, data, durable=False)
        except OSError as error:
            msg = f"cannot read {target}: {error.strerror or error}"
            raise SiteNotWritten(msg) from error
        except RecordNotWritten as error:
            raise SiteNotWritten(str(error)) from error
        self.written += 1


def build(index: Index, folder: Path, options: Options) -> Built:
    """Build the site of all runs of an index.

    Args:
        index: The index, up to date.
        folder: The folder of the site: new, empty, or with an earlier build.
        options: Options of the site.

    Raises:
        SiteNotWritten: the folder contains other files, or cannot be written.
    """
    earlier = _claim(folder)
    writer = _Writer(folder)
    for name, content in _contents(index, options):
        writer.write(name, content)
    removed = _remove(folder, set(earlier) - set(writer.names))
    writer.write(
        MANIFEST, json.dumps({"schema": "critests.site", "files": sorted(writer.names)}, indent=0) + "\n"
    )
    pages_written = sum(name.endswith(".html") for name in writer.names)
    return Built(pages_written, writer.written, removed)


def _contents(index: Index, options: Options) -> Iterator[tuple[str, str]]:
    known, everything = promises(index.requirements()), lines(index)
    newest = {line.slug for line in sorted(everything, key=lambda line: -line.newest)[:LINES_LIMIT]}
    all_lines = [line for line in everything if line.slug in newest]
    mixed = all_versions(index, everything)
    tested = [
        promise for promise in known if any(line.states[promise.place].letter != "." for line in all_lines)
    ]
    comparisons = [
        (pair, found)
        for pair in pairs(all_lines)
        if options.results is not None and (found := compared(options.results, pair)) is not None
    ]
    site = pages.SitePages(
        index=index,
        title=options.title,
        now=options.now,
        run_links=options.run_links,
        lines=all_lines,
        mixed=mixed,
        older=len(everything) - len(all_lines),
        promises=tested,
        pairs=[pair for pair, _ in comparisons],
    )
    yield "style.css", pages.style()
    yield "filter.js", pages.script()
    yield "index.html", site.overview()
    yield "requirements.html", site.requirements()
    for line in [*mixed, *all_lines]:
        if line.runs:
            yield f"grids/{line.slug}.html", site.grid(line)
        if line.benchmarks:
            yield f"benchmarks/{line.slug}.html", site.benchmarks(line)
    for pair, comparison in comparisons:
        yield f"compare/{pair.page}.html", comparison_to_html(comparison, home="../index.html")
    for promise in tested:
        yield f"requirements/{promise.page}.html", site.requirement(promise)


def _claim(folder: Path) -> list[str]:
    """Return the files of an earlier build; raise an error for a folder with other files."""
    manifest = folder / MANIFEST
    try:
        if manifest.is_file():
            files = json.loads(manifest.read_text(encoding="utf-8")).get("files", [])
            return [name for name in files if isinstance(name, str)]
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            msg = f"{folder} is not empty and not a site of critests: choose another directory"
            raise SiteNotWritten(msg)
        manifest.write_text(json.dumps({"schema": "critests.site", "files": []}) + "\n", encoding="utf-8")
    except (OSError, ValueError, AttributeError) as error:
        msg = f"cannot use {folder} for the site: {error}"
        raise SiteNotWritten(msg) from error
    return []


def _remove(folder: Path, names: Iterable[str]) -> int:
    removed = 0
    for name in names:
        target = folder / name
        if ".." in Path(name).parts or Path(name).is_absolute() or not target.is_file():
            continue
        target.unlink()
        removed += 1
    return removed
