"""The index of the suite: what is known of every test, from the last time that all were collected.

With it, a list needs no pytest, and of a selection only the files are imported that hold it. It is kept as
compiled modules are, and good until a file of this package changes, or pytest, or the kernel. Where something
else decides which tests there are, nobody asks it: see `Settings.collects_each_once`.
"""

import dataclasses
import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path

from critests.disk_cache import CachedJson, kept
from critests.exit_codes import UsageError
from critests.run.known_tests import PACKAGE, SUITE, KnownTest
from critests.run.run_settings import Settings
from critests.run.selection import choose


def read() -> list[KnownTest] | None:
    """Return every test of the suite, in its order; None where that is not known."""
    rows = _kept().read()
    return None if rows is None else [KnownTest(**row) for row in rows]


def keep(tests: Iterable[KnownTest]) -> None:
    """Keep what is known of every test of the suite, in its order."""
    untouched = {field.name: field.default for field in dataclasses.fields(KnownTest)}
    _kept().write(
        [
            {
                name: value
                for name, value in vars(test).items()
                if name in untouched and value != untouched[name]
            }
            for test in tests
        ]
    )


class Collection:
    """What a process that collects the suite does with the index: it takes only files that hold something of
    what was chosen, or keeps what it collected.

    Attributes:
        tests: of the index; None where it is not asked, or is not there.
    """

    def __init__(self, settings: Settings, *, asked: bool) -> None:
        """Choose from the index.

        Args:
            settings: the user's options.
            asked: whether there is nothing to collect but the suite, all of it.

        Raises:
            UsageError: an option names something that does not exist.
        """
        self._asked = asked and settings.collects_each_once
        self.tests = read() if self._asked else None
        chosen = choose(self.tests, settings)[0] if self.tests is not None else []
        self._files = {test.file for test in chosen}

    def leaves_out(self, path: Path) -> bool:
        """Whether a module of the suite, or a folder, holds nothing that was chosen."""
        if self.tests is None or SUITE not in path.parents:
            return False
        name = path.relative_to(SUITE).as_posix()
        if path.is_dir():
            return not any(file.startswith(f"{name}/") for file in self._files)
        return path.name.startswith("test_") and name not in self._files

    def whole(self, collected: list[KnownTest], *, complete: bool) -> list[KnownTest]:
        """Return every test of the suite: from the index, or those that were collected, which are then kept.

        Args:
            collected: in the suite's order.
            complete: whether every module could be read.

        Raises:
            UsageError: a file holds other tests than the index tells.
        """
        if self.tests is None:
            if self._asked and complete:
                keep(collected)
            return collected
        if {test.id for test in collected} != {test.id for test in self.tests if test.file in self._files}:
            index = _kept().place
            index.unlink(missing_ok=True)
            msg = f"the test index {index} was out of date and has been deleted: run the command again"
            raise UsageError(msg)
        return self.tests


def _kept() -> CachedJson:
    collector = importlib.util.find_spec("pytest")
    place = Path(collector.origin) if collector and collector.origin else PACKAGE
    machine = os.uname()
    return kept("index", PACKAGE, str(place), str(place.stat().st_mtime_ns), machine.release, machine.machine)
