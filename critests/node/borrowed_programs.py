"""Programs of a node, seen from a container on it: for each a small script at the same path, which enters the
node's mount namespace.

A throwaway runtime that runs in the node's namespace is configured with paths of the node. The suite looks
for these programs, and asks them for their versions, in its own root, where they are missing. What is there
already is left as it is.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from critests.kinds import oci
from critests.kinds.kind import RuntimeKind
from critests.node.binaries import search_path
from critests.node.cni import PLUGIN_DIRECTORIES, PLUGINS

SEARCH_SECONDS: Final = 30


def wanted(kind: RuntimeKind) -> list[Path]:
    """Return every path at which a program that a throwaway runtime of this kind needs may be."""
    directories = [*map(Path, search_path().split(os.pathsep)), *kind.helper_directories]
    names = (kind.program, *kind.helpers, *oci.PROGRAMS)
    programs = [directory / name for directory in directories for name in names]
    return [*programs, *(directory / name for directory in PLUGIN_DIRECTORIES for name in PLUGINS)]


def stand_in(script: Path, pid: int, program: Path) -> None:
    """Write a script that runs a program in the mount namespace of a process."""
    script.write_text(f'#!/bin/sh\nexec nsenter --target {pid} --mount -- {program} "$@"\n', encoding="utf-8")
    script.chmod(0o755)


@contextlib.contextmanager
def borrowed(pid: int, paths: Iterable[Path]) -> Iterator[list[Path]]:
    """Have those programs of a node stand here, at the same paths, for the time of a `with`.

    Args:
        pid: A process in the node's mount namespace.
        paths: Absolute; those that the node does not have, or that exist here, are passed over.

    Yields:
        The programs that the node has, whether or not they had to be borrowed.

    Raises:
        OSError: the namespace cannot be entered, or a script cannot be written.
    """
    there = _on_node(pid, paths)
    with contextlib.ExitStack() as held:
        for path in there:
            if path.exists():
                continue
            for folder in reversed([parent for parent in path.parents if not parent.exists()]):
                folder.mkdir()
                held.callback(folder.rmdir)
            held.callback(path.unlink, missing_ok=True)
            stand_in(path, pid, path)
        yield there


def _on_node(pid: int, paths: Iterable[Path]) -> list[Path]:
    search = 'for program in "$@"; do [ -f "$program" ] && [ -x "$program" ] && echo "$program"; done; exit 0'
    command = [
        "nsenter",
        "--target",
        str(pid),
        "--mount",
        "--",
        "/bin/sh",
        "-c",
        search,
        "sh",
        *map(str, paths),
    ]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=SEARCH_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        msg = f"the mount namespace of process {pid} did not answer within {SEARCH_SECONDS} s"
        raise OSError(msg) from error
    if found.returncode:
        why = found.stderr.strip()
        msg = (
            f"the mount namespace of process {pid} cannot be entered: {why}; the container must be"
            " privileged, with hostPID"
        )
        raise OSError(msg)
    return [Path(line) for line in found.stdout.splitlines()]
