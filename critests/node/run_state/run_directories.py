"""The directories of runs, in which the files of a crashed run are found again.

Below `/run/critests/<run id>/` are lock files and the state, socket and log of private runtimes; below
`/var/lib/critests/<run id>/` are their larger files (images, snapshots). `critests clean` looks in both.
Standard library only: the watcher of a private runtime imports this module.
"""

from collections.abc import Iterator
from pathlib import Path

RUNS = Path("/run/critests")
"""One directory per run that is in progress, or that ended without cleaning up."""

FILES = Path("/var/lib/critests")
"""The large files of private runtimes, one directory per run."""

NODE = "node"
"""The directory of private runtimes below a run's directory."""

SOCKETS = ".sockets"
"""The directory of sockets of private runtimes below `RUNS`; no run has this name."""

SOCKET_PATH_BYTES = 107
"""Longest path of a unix socket: sun_path of unix(7) without the final NUL."""

RECORD_FILE = "throwaway.json"
LOCK_FILE = "lock"


def run_dir(run_id: str) -> Path:
    """Return the directory of a run's locks and private runtimes (it need not exist).

    Raises:
        ValueError: the id is not a valid name of a directory.
    """
    if not run_id or "/" in run_id or run_id.startswith("."):
        raise ValueError(f"{run_id!r} is not the id of a run")
    return RUNS / run_id


def socket_dir(token: str) -> Path:
    """Return the directory for sockets of a private runtime; its path is as short as possible."""
    return RUNS / SOCKETS / token


def throwaway_dirs() -> Iterator[Path]:
    """Yield the state directory of every private runtime on this machine, running or dead."""
    yield from sorted(RUNS.glob(f"*/{NODE}/*/"))


def remove_empty(path: Path, *, up_to: Path) -> None:
    """Remove a directory and its parents up to and including `up_to`, stopping at the first that is not
    empty.
    """
    for directory in (path, *path.parents):
        if directory != up_to and up_to not in directory.parents:
            return
        try:
            directory.rmdir()
        except FileNotFoundError:
            continue
        except OSError:
            return
