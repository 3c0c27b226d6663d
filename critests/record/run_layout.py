"""Where the files of a run are: `results/<runtime>/<version>/<run>/`.

`<run>` is the start in whole epoch seconds, because the dashboards that read such trees need increasing
integers; a second run of the same second takes the next free number.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from critests.record.record_errors import RecordNotWritten, RecordUnreadable, not_written

RUN_FILE: Final = "run.json"
COMPRESSED_RUN_FILE: Final = "run.json.gz"
"""The output of `gzip -n run.json`, a fifteenth as large."""
LATEST: Final = "latest"
"""Name of the newest run: alone, or after the folder of a runtime or of a version."""
DEPTH: Final = 3
"""Folders from the root of all results to a run: runtime, version, run."""
LAST: Final = "last"
"""Name of the last good run on the same machine, as a baseline."""
RESULTS: Final = Path("results")
UNKNOWN: Final = "unknown"
"""Name of a runtime, or its version, if it reports none."""
SAFE_LENGTH: Final = 100
"""Longest name of a folder; file systems permit 255 bytes."""
ATTEMPTS: Final = 1000
"""Runs of one second get the names of the following seconds, up to so many."""


@dataclass(frozen=True)
class RunFolder:
    """The folder of one run.

    Attributes:
        path: The folder itself.
    """

    path: Path

    @property
    def record(self) -> Path:
        """The run record."""
        return self.path / RUN_FILE

    @property
    def calls(self) -> Path:
        """Folder of the recorded calls, compressed JSON lines."""
        return self.path / "calls"

    @property
    def samples(self) -> Path:
        """Folder of benchmark samples, compressed JSON lines."""
        return self.path / "samples"

    def evidence(self, test_id: str) -> Path:
        """Return the folder of one test's evidence; it need not exist."""
        return self.path / evidence_name(test_id)


def evidence_name(test_id: str) -> str:
    """Return the folder of a test's evidence relative to the run's folder, as `TestResult.evidence` holds
    it.
    """
    return f"evidence/{safe_test_id(test_id)}"


def new_run_folder(results: Path, runtime: str, version: str, started: float) -> RunFolder:
    """Create the folder of a new run.

    Args:
        results: Root of all results.
        runtime: The name that the runtime reports; made safe.
        version: The version that it reports; made safe.
        started: Start, seconds since the epoch.

    Raises:
        RecordNotWritten: the folder cannot be created.
    """
    parent = results / safe_name(runtime) / safe_name(version)
    for number in range(int(started), int(started) + ATTEMPTS):
        folder = parent / str(number)
        try:
            parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
        except FileExistsError:
            if parent.is_dir():
                continue
            msg = f"cannot write {folder}: {parent} is a file"
            raise RecordNotWritten(msg) from None
        except OSError as error:
            raise not_written(folder, error) from error
        return RunFolder(folder)
    msg = f"cannot write below {parent}: no free folder name from {int(started)} on"
    raise RecordNotWritten(msg)


def run_named(name: Path, results: Path = RESULTS) -> Path:
    """Return the path of a run that a user names: the path itself, or the run that `latest` means.

    `latest` is the newest run below `results`; `results/containerd/latest` the newest below that folder,
    which may be written without its `results/`.

    Args:
        name: as it is written.
        results: the folder of all runs.

    Raises:
        RecordUnreadable: there is no run below that folder.
    """
    if name.name != LATEST or name.exists():
        return name
    folder = name.parent if name.parent != Path() and name.parent.is_dir() else results / name.parent
    newest = newest_run(folder)
    if newest is None:
        msg = f"{name}: there is no run below {folder}"
        raise RecordUnreadable(msg)
    return newest


def results_of(folder: Path) -> Path:
    """Return the root of all results above the folder of a run, as `new_run_folder` creates it; the folder
    itself if there are fewer levels.
    """
    folder = folder.resolve()
    above = folder.parents
    return above[DEPTH - 1] if len(above) >= DEPTH else folder


def newest_run(folder: Path) -> Path | None:
    """Return the folder of the newest run of all results, of a runtime or of a version; None without runs.
    See `newest_first`.
    """
    return next(iter(newest_first(folder)), None)


def newest_first(folder: Path) -> list[Path]:
    """Return the folders of all runs of all results, of a runtime or of a version, the newest first.

    Names of runs are numbers that increase with time; a run without a number counts as the oldest.
    """
    found = {
        file.parent
        for name in (RUN_FILE, COMPRESSED_RUN_FILE)
        for below in ("*", "*/*", "*/*/*")
        for file in folder.glob(f"{below}/{name}")
    }
    return sorted(found, key=_age, reverse=True)


def _age(run: Path) -> tuple[int, str]:
    number = int(run.name) if run.name.isascii() and run.name.isdecimal() else 0
    return number, str(run)


def safe_name(text: str) -> str:
    """Return a name for a folder: letters, digits, `.`, `_`, `+`, `~` and `-`, never hidden, never empty, at
    most 100 characters.

    Two texts that differ only in what is replaced may get one name; see `safe_test_id` where that matters.
    """
    name = re.sub(r"[^A-Za-z0-9._+~-]+", "-", text).strip("-").lstrip(".")[:SAFE_LENGTH]
    return name or UNKNOWN


def safe_test_id(test_id: str) -> str:
    """Return a folder name for a test id: readable, and different for different ids.

    The hash at its end keeps `test_x[a/b]` and `test_x[a-b]` apart, also on file systems that ignore case.
    """
    digest = hashlib.sha256(test_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", test_id.replace(".py::", ".").replace("/", ".")).strip("-.")
    return f"{readable[:SAFE_LENGTH].rstrip('-.') or 'test'}-{digest}"
