"""The formats by name.

The module of a format is imported when the format is written, so `critests report --help` imports none.
"""

import importlib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

from critests.record.files import write_atomically
from critests.report.formats.source import Source


@dataclass(frozen=True)
class TextFormat:
    """A format that is one file.

    Attributes:
        name: Its name for `--format`.
        file_name: Name of the file in an output directory.
        summary: Its readers, in one line.
    """

    name: str
    file_name: str
    summary: str

    def render(self, source: Source) -> str:
        """Return the text of a run.

        Raises:
            NotExported: the run cannot be written in this format.
        """
        text: str = _module(self.name).render(source)
        return text

    def write(self, source: Source, output: Path) -> list[Path]:
        """Write a run into the file `output`, or into the directory `output` as `file_name`.

        Returns:
            The file.

        Raises:
            NotExported: the run cannot be written in this format.
            RecordNotWritten: the file could not be written.
        """
        target = output / self.file_name if output.is_dir() else output
        write_atomically(target, self.render(source))
        return [target]


@dataclass(frozen=True)
class TreeFormat:
    """A format that is a directory of files.

    Attributes:
        name: Its name for `--format`.
        summary: Its readers, in one line.
    """

    name: str
    summary: str

    def write(self, source: Source, output: Path) -> list[Path]:
        """Write a run below the directory `output`.

        Returns:
            The files in the order in which they were written.

        Raises:
            NotExported: the run cannot be written in this format.
            RecordNotWritten: a file could not be written.
        """
        files: list[Path] = _module(self.name).write_tree(source, output)
        return files


Format = TextFormat | TreeFormat
FORMATS: Final[dict[str, Format]] = {
    each.name: each
    for each in (
        TextFormat("summary", "summary.txt", "a person at a terminal"),
        TextFormat("html", "report.html", "a person: one page, no network"),
        TextFormat("junit", "junit.xml", "Prow, GitLab, Jenkins and GitHub reporters"),
        TextFormat("github", "github.md", "GitHub: a step's summary, or a comment on a pull request"),
        TreeFormat("testgrid", "TestGrid, Spyglass, Gubernator: logs/<job>/<build>/ for a bucket"),
        TextFormat("testgrid-config", "testgrid.yaml", "TestGrid: the job's test group and its alerts"),
        TreeFormat("allure", "Allure 2 and 3: a directory of results; make allure renders it"),
        TextFormat("pytest-benchmark", "benchmark.json", "pytest-benchmark compare: a benchmark's durations"),
        TextFormat("prometheus", "critests.prom", "node_exporter's textfile collector"),
        TextFormat("csv", "operations.csv", "a spreadsheet: a benchmark's operations"),
    )
}
_MODULES: Final = {"html": "html_page", "csv": "operations_csv"}
"""Modules that are not named like their format, as `html` and `csv` are modules of Python."""


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"critests.report.formats.{_MODULES.get(name, name.replace('-', '_'))}")
