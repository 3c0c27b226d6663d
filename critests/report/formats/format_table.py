"""The formats by their names.

A format's module is loaded when the format is written: `critests report --help` waits for none of them.
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
        name: What `--format` takes.
        file_name: Name of the file where only a folder was given.
        summary: Who reads it, in one line.
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
        """Write a run into the file `output`, or under its usual name into the folder `output`.

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
    """A format that is a folder of files.

    Attributes:
        name: What `--format` takes.
        summary: Who reads it, in one line.
    """

    name: str
    summary: str

    def write(self, source: Source, output: Path) -> list[Path]:
        """Write a run below the folder `output`.

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
        TreeFormat("allure", "Allure 2 and 3: a folder of results; make allure renders it"),
        TextFormat("pytest-benchmark", "benchmark.json", "pytest-benchmark compare: a benchmark's durations"),
        TextFormat("prometheus", "critests.prom", "node_exporter's textfile collector"),
        TextFormat("csv", "operations.csv", "a spreadsheet: a benchmark's operations"),
    )
}
_MODULES: Final = {"html": "html_page", "csv": "operations_csv"}
"""Names of modules that are not the format's own: `html` and `csv` are Python's."""


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"critests.report.formats.{_MODULES.get(name, name.replace('-', '_'))}")
