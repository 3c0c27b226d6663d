"""What is kept counts until a file of the folder changes; where it cannot be kept, nobody misses it."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from critests.disk_cache import kept


@pytest.fixture(autouse=True)
def pycache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where Python may keep what it compiles."""
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


def test_what_was_kept_is_found_again(folder: Path, pycache: Path) -> None:
    assert kept("thing", folder).read() is None
    kept("thing", folder).write({"of": ["several", 2]})

    assert kept("thing", folder).read() == {"of": ["several", 2]}
    assert kept("another", folder).read() is None
    assert sorted(path.name for path in pycache.rglob("*") if path.is_file()) == [
        f"thing.{sys.implementation.cache_tag}.json"
    ]


def touched(folder: Path) -> None:
    file = folder / "below" / "one.py"
    state = file.stat()
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns + 1))


@pytest.mark.parametrize(
    "change",
    [
        touched,
        lambda folder: (folder / "data.toml").write_text("a = 12\n"),
        lambda folder: (folder / "below" / "two.py").touch(),
        lambda folder: (folder / "data.toml").unlink(),
        lambda folder: (folder / "data.toml").rename(folder / "below" / "data.toml"),
    ],
    ids=["written again", "longer", "one more", "one less", "moved"],
)
def test_it_counts_no_more_when_a_file_changes(folder: Path, change: Callable[[Path], object]) -> None:
    kept("thing", folder).write(1)
    change(folder)

    assert kept("thing", folder).read() is None


def test_what_does_not_decide_changes_nothing(folder: Path) -> None:
    kept("thing", folder, "8.0").write(1)
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "one.py").touch()
    (folder / "notes.md").touch()

    assert kept("thing", folder, "8.0").read() == 1
    assert kept("thing", folder, "9.0").read() is None


def test_where_nothing_can_be_written_nothing_is_kept(folder: Path, pycache: Path) -> None:
    pycache.write_text("no folder")
    kept("thing", folder).write(1)

    assert kept("thing", folder).read() is None


def test_where_python_keeps_nothing_neither_do_we(
    folder: Path, pycache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    kept("thing", folder).write(1)

    assert not pycache.exists()


@pytest.mark.parametrize("text", ["", '{"key": "', "[1]", "{}", "\udcff"], ids=repr)
def test_what_is_cut_off_is_not_there(folder: Path, text: str) -> None:
    kept("thing", folder).write(1)
    kept("thing", folder).place.write_text(text, errors="surrogateescape")

    assert kept("thing", folder).read() is None
