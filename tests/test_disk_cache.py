"""A cached value is valid until a source file changes; a cache that cannot be written is no error."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from critests.disk_cache import cached_json


@pytest.fixture(autouse=True)
def pycache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of compiled modules."""
    place = tmp_path / "pycache"
    monkeypatch.setattr(sys, "pycache_prefix", str(place))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return place


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    (folder / "below").mkdir(parents=True)
    (folder / "below" / "one.py").write_text("ONE = 1\n")
    (folder / "data.toml").write_text("a = 1\n")
    return folder


def test_stored_values_are_read_back(folder: Path, pycache: Path) -> None:
    assert cached_json("thing", folder).read() is None
    cached_json("thing", folder).write({"of": ["several", 2]})

    assert cached_json("thing", folder).read() == {"of": ["several", 2]}
    assert cached_json("another", folder).read() is None
    assert sorted(path.name for path in pycache.rglob("*") if path.is_file()) == [
        f"thing.{sys.implementation.cache_tag}.json"
    ]


def change_mtime(folder: Path) -> None:
    file = folder / "below" / "one.py"
    state = file.stat()
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns + 1))


@pytest.mark.parametrize(
    "change",
    [
        change_mtime,
        lambda folder: (folder / "data.toml").write_text("a = 12\n"),
        lambda folder: (folder / "below" / "two.py").touch(),
        lambda folder: (folder / "data.toml").unlink(),
        lambda folder: (folder / "data.toml").rename(folder / "below" / "data.toml"),
    ],
    ids=["written again", "longer", "one more", "one less", "moved"],
)
def test_a_changed_file_makes_the_value_stale(folder: Path, change: Callable[[Path], object]) -> None:
    cached_json("thing", folder).write(1)
    change(folder)

    assert cached_json("thing", folder).read() is None


def test_unrelated_files_do_not_matter(folder: Path) -> None:
    cached_json("thing", folder, "8.0").write(1)
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "one.py").touch()
    (folder / "notes.md").touch()

    assert cached_json("thing", folder, "8.0").read() == 1
    assert cached_json("thing", folder, "9.0").read() is None


def test_without_write_access_nothing_is_cached(folder: Path, pycache: Path) -> None:
    pycache.write_text("no folder")
    cached_json("thing", folder).write(1)

    assert cached_json("thing", folder).read() is None


def test_with_dont_write_bytecode_nothing_is_cached(
    folder: Path, pycache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    cached_json("thing", folder).write(1)

    assert not pycache.exists()


@pytest.mark.parametrize("text", ["", '{"key": "', "[1]", "{}", "\udcff"], ids=repr)
def test_a_damaged_file_is_ignored(folder: Path, text: str) -> None:
    cached_json("thing", folder).write(1)
    cached_json("thing", folder).place.write_text(text, errors="surrogateescape")

    assert cached_json("thing", folder).read() is None
