"""Path, version and digest of the programs that a runtime consists of."""

import hashlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from critests.node.host.binaries import MissingProgram, version_text
from critests.node.host.listeners import binary_of_process
from critests.record.identity import ProgramFile

DAEMON = "daemon"
"""The role of the process that answers the CRI."""


def describe_files(files: Iterable[tuple[str, Path]]) -> list[ProgramFile]:
    """Return version and digest of each file.

    Args:
        files: role and path of each.
    """
    with ThreadPoolExecutor(max_workers=4) as pool:
        return list(pool.map(lambda file: _describe(*file), files))


def describe_daemon(pid: int | None) -> list[ProgramFile]:
    """Return the executable of a daemon's process as a list of one; empty where it cannot be seen.

    Args:
        pid: of the daemon; None where it is not known.
    """
    if pid is None:
        return []
    seen = binary_of_process(pid)
    return [ProgramFile(role=DAEMON, path=seen.binary, version=seen.version, sha256=seen.sha256)] * bool(
        seen.binary
    )


def _describe(role: str, path: Path) -> ProgramFile:
    try:
        version = version_text(path)
    except MissingProgram:
        version = ""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        digest = ""
    return ProgramFile(role=role, path=str(path.resolve()), version=version, sha256=digest)
