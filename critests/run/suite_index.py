"""The index of the suite: the metadata of every test, from the last full collection.

With it, a list needs no pytest, and a run imports only the files of the selected tests. It is stored like
compiled modules, and valid until a file of this package, pytest or the kernel changes. It is not used if
something else decides which tests exist: see `Settings.collects_each_once`.
"""

import dataclasses
import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path

from critests.disk_cache import CachedJson, cached_json
from critests.exit_codes import UsageError
from critests.run.collected_tests import PACKAGE, SUITE, CollectedTest
from critests.run.run_settings import Settings
from critests.run.selection import choose


def read() -> list[CollectedTest] | None:
    """Return every test of the suite, in order; None without a valid index."""
    rows = _index_file().read()
    return None if rows is None else [CollectedTest(**row) for row in rows]


def store(tests: Iterable[CollectedTest]) -> None:
    """Store the metadata of every test of the suite, in order."""
    untouched = {field.name: field.default for field in dataclasses.fields(CollectedTest)}
    _index_file().write(
        [
            {
                name: value
                for name, value in vars(test).items()
                if name in untouched and value != untouched[name]
            }
            for test in tests
        ]
    )


class IndexedCollection:
    """Use of the index while pytest collects the suite: only files with selected tests are imported, or the
    index is stored after a full collection.

    Attributes:
        tests: of the index; None if it is not used or does not exist.
    """

    def __init__(self, settings: Settings, *, use_index: bool) -> None:
        """Select tests from the index.

        Args:
            settings: the user's options.
            use_index: whether pytest collects the whole suite and nothing else.

        Raises:
            UsageError: an option names something that does not exist.
        """
        self._uses_index = use_index and settings.collects_each_once
        self.tests = read() if self._uses_index else None
        chosen = choose(self.tests, settings)[0] if self.tests is not None else []
        self._files = {test.file for test in chosen}

    def leaves_out(self, path: Path) -> bool:
        """Whether a module or a folder of the suite has no selected test."""
        if self.tests is None or SUITE not in path.parents:
            return False
        name = path.relative_to(SUITE).as_posix()
        if path.is_dir():
            return not any(file.startswith(f"{name}/") for file in self._files)
        return path.name.startswith("test_") and name not in self._files

    def whole(self, collected: list[CollectedTest], *, complete: bool) -> list[CollectedTest]:
        """Return every test of the suite: from the index, or those that were collected, which are then
        stored.

        Args:
            collected: in the suite's order.
            complete: whether every module could be read.

        Raises:
            UsageError: the tests of a file differ from those in the index.
        """
        if self.tests is None:
            if self._uses_index and complete:
                store(collected)
            return collected
        if {test.id for test in collected} != {test.id for test in self.tests if test.file in self._files}:
            index = _index_file().place
            index.unlink(missing_ok=True)
            msg = f"the test index {index} was out of date and has been deleted: run the command again"
            raise UsageError(msg)
        return self.tests


def _index_file() -> CachedJson:
    collector = importlib.util.find_spec("pytest")
    place = Path(collector.origin) if collector and collector.origin else PACKAGE
    machine = os.uname()
    return cached_json(
        "index", PACKAGE, str(place), str(place.stat().st_mtime_ns), machine.release, machine.machine
    )
