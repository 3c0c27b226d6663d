"""A cache of data computed from files of this package, stored next to its compiled modules: one file per
version of Python, valid until one of the source files changes.

If Python may not write compiled modules, nothing is cached.
"""

import contextlib
import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

SOURCE_SUFFIXES: Final = frozenset({".py", ".toml", ".json", ".ini"})
"""Suffixes of the files on which the cached data depend."""


@dataclass(frozen=True)
class CachedJson:
    """One cached value.

    Attributes:
        place: the file.
        key: hash of everything on which the value depends; a value with another key is stale.
    """

    place: Path
    key: str

    def read(self) -> Any:  # noqa: ANN401 - what JSON holds
        """Return the cached value; None if there is none or it is stale."""
        try:
            found = json.loads(self.place.read_bytes())
        except (OSError, ValueError):
            return None
        return found["content"] if isinstance(found, dict) and found.get("key") == self.key else None

    def write(self, content: object) -> None:
        """Store a JSON value atomically; does nothing if the file cannot be written."""
        if sys.dont_write_bytecode:
            return
        temporary = self.place.with_name(f".{self.place.name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            try:
                self.place.parent.mkdir(parents=True, exist_ok=True)
                temporary.write_text(json.dumps({"key": self.key, "content": content}), encoding="utf-8")
                temporary.replace(self.place)
            finally:
                temporary.unlink(missing_ok=True)


def cached_json(name: str, folder: Path, *more: str) -> CachedJson:
    """Return the cache of a value that depends on every source file in and below a folder.

    Args:
        name: unique name of the value.
        folder: of this package; the file is next to its compiled modules.
        more: what else the value depends on, such as versions of other packages.
    """
    place = Path(importlib.util.cache_from_source(str(folder / f"{name}.py"))).with_suffix(".json")
    dependencies = [sys.version, *more, *sorted(_states(folder, str(folder)))]
    return CachedJson(place, hashlib.sha256("\0".join(dependencies).encode()).hexdigest())


def _states(folder: Path | str, root: str) -> Iterable[str]:
    """Yield path, size and modification time of every source file."""
    folders: list[str] = []
    for entry in _entries(folder):
        if entry.is_dir():
            if entry.name != "__pycache__":
                folders.append(entry.path)
        elif entry.name[entry.name.rfind(".") :] in SOURCE_SUFFIXES:
            state = entry.stat()
            yield f"{entry.path.removeprefix(root)} {state.st_size} {state.st_mtime_ns}"
    for each in folders:
        yield from _states(each, root)


def _entries(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from entries
