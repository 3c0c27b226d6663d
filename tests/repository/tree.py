"""The files of the checkout, for tests of repository rules."""

import gzip
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@cache
def tracked() -> tuple[Path, ...]:
    """Every tracked file that is there; skips the test where there is no git checkout (an unpacked sdist)."""
    command = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "ls-files", "-z"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError) as problem:
        pytest.skip(f"not a git checkout: {problem}")
    return tuple(path for name in listed.split("\0") if name and (path := ROOT / name).is_file())


def python_files() -> list[Path]:
    """Every Python file that was written by hand."""
    return [path for path in tracked() if path.suffix == ".py" and "_pb2" not in path.name]


def named(path: Path) -> str:
    """A file's path as it is written in a message."""
    return path.relative_to(ROOT).as_posix()


def texts() -> Iterator[tuple[Path, str]]:
    """Every file that is text, compressed or not, with its text."""
    for path in tracked():
        data = path.read_bytes()
        try:
            yield path, (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        except UnicodeDecodeError:
            continue


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """Every comment of a Python file, with its line number."""
    with path.open("rb") as source:
        for token in tokenize.tokenize(source.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
