"""What was worked out from files of this package, kept as Python keeps compiled modules: beside
them, one for each version of Python, and good until one of the files changes.

Where Python may not write its own, nothing is kept, and it is worked out every time.
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

DECIDING: Final = frozenset({".py", ".toml", ".json", ".ini"})
"""Suffixes of the files that decide what this package does."""


@dataclass(frozen=True)
class CachedJson:
    """One thing that is kept.

    Attributes:
        place: the file.
        key: what decides it; what was kept under another key counts no more.
    """

    place: Path
    key: str

    def read(self) -> Any:  # noqa: ANN401 - what JSON holds
        """Return what is kept, None where nothing is that counts."""
        try:
            found = json.loads(self.place.read_bytes())
        except (OSError, ValueError):
            return None
        return found["content"] if isinstance(found, dict) and found.get("key") == self.key else None

    def write(self, content: object) -> None:
        """Keep what JSON can hold, for everybody or not at all."""
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


def kept(name: str, folder: Path, *more: str) -> CachedJson:
    """Return what is kept beside the modules of a folder, and decided by every file in and below it.

    Args:
        name: one name, one thing.
        folder: of this package.
        more: what else decides it, such as versions of other packages.
    """
    place = Path(importlib.util.cache_from_source(str(folder / f"{name}.py"))).with_suffix(".json")
    decided_by = [sys.version, *more, *sorted(_states(folder, str(folder)))]
    return CachedJson(place, hashlib.sha256("\0".join(decided_by).encode()).hexdigest())


def _states(folder: Path | str, root: str) -> Iterable[str]:
    """Yield path, size and time of the last change of every file that decides."""
    folders: list[str] = []
    for entry in _entries(folder):
        if entry.is_dir():
            if entry.name != "__pycache__":
                folders.append(entry.path)
        elif entry.name[entry.name.rfind(".") :] in DECIDING:
            state = entry.stat()
            yield f"{entry.path.removeprefix(root)} {state.st_size} {state.st_mtime_ns}"
    for each in folders:
        yield from _states(each, root)


def _entries(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from entries
