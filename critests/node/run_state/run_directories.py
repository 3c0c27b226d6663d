"""Where runs keep what must be found again after a crash.

Below `/run/critests/<run id>/` are lock files and what a throwaway runtime needs while it lives (state,
socket, log); below `/var/lib/critests/<run id>/` are its larger files (images, snapshots). `critests clean`
looks in both.
Standard library only: the watcher of a throwaway runtime imports this in a process of its own.
"""

from collections.abc import Iterator
from pathlib import Path

RUNS = Path("/run/critests")
"""One directory per run that is alive, or that died without cleaning up."""

FILES = Path("/var/lib/critests")
"""The large files of throwaway runtimes, one directory per run."""

NODE = "node"
"""The directory of throwaway runtimes below a run's directory."""

SOCKETS = ".sockets"
"""The directory of throwaway runtimes' sockets below `RUNS`; no run is called so."""

SOCKET_PATH_BYTES = 107
"""How long the path of a unix socket may be: sun_path of unix(7) without the NUL at its end."""

RECORD_FILE = "throwaway.json"
LOCK_FILE = "lock"


def run_dir(run_id: str) -> Path:
    """Return the directory of a run's locks and throwaway runtimes (it need not exist).

    Raises:
        ValueError: the id is no name of a directory.
    """
    if not run_id or "/" in run_id or run_id.startswith("."):
        raise ValueError(f"{run_id!r} is not the id of a run")
    return RUNS / run_id


def socket_dir(token: str) -> Path:
    """Return a throwaway runtime's directory for sockets, whose path is as short as it can be."""
    return RUNS / SOCKETS / token


def throwaway_dirs() -> Iterator[Path]:
    """Yield the state directory of every throwaway runtime of every run on this machine, alive or dead."""
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
