"""The OCI runtime alone runs create, start, kill and delete of one bundle: the part that no CRI runtime can
avoid.

Not included is the work of the daemon or its shim: snapshot and overlay mount, the network, pipes for the
log, events. Each step is timed from outside and includes the start of the OCI runtime's process, as for a
shim. The step `kill` ends when the container's process has exited. The effects of the steps are checked
between the timed windows.
"""

import itertools
import os
import select
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self

from critests.benchmark.reference.oci_bundle import JOINED, PROCESS, new_namespaces, write_bundle
from critests.lifecycle.process import stat_of
from critests.node.cgroups.cgroup_mounts import cgroup_hierarchies
from critests.node.cleanup.leftovers import remove_cgroups, unmount_below
from critests.node.run_state.run_directories import remove_empty

STEPS: Final = ("create", "start", "kill", "delete")
CYCLE: Final = "cycle"
"""The sum of the four steps."""

_FOLDER: Final = "oci-reference"
_CONTAINER: Final = "container"
_STEP_SECONDS: Final = 30.0
_DEATH_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.002


class OciReferenceFailed(Exception):
    """A step failed, or did not do what its exit code reports; the text names the step and quotes the
    runtime.
    """


class OciReference:
    """A bundle that an OCI runtime runs repeatedly. Use it as a context manager; needs root.

    Attributes:
        start_seconds: how long the container's process may take to execute its program; not part of any step.
    """

    def __init__(self, binary: Path, directory: Path, run_id: str) -> None:
        """Store the arguments; the `with` creates the bundle.

        Args:
            binary: runc, crun or another OCI runtime with the same command line.
            directory: of the run; a directory in it holds bundle and state, and is removed at the end.
            run_id: the run, which names the cgroup.
        """
        self.binary = binary
        self._folder = directory / f"{_FOLDER}-{binary.name}"
        self._bundle = self._folder / "bundle"
        self._pid_file = self._folder / "pid"
        self._stderr = self._folder / "stderr"
        self._log = self._folder / "log.json"
        self._cgroup = f"critests/{run_id}/{_FOLDER}"
        self.start_seconds = _DEATH_SECONDS
        self._numbers = itertools.count(1)
        self._namespaces: dict[str, int] = {}
        self._current: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        if os.geteuid() != 0:
            raise OciReferenceFailed("the bare OCI runtime can only be measured by root")
        self._folder.mkdir(parents=True)
        try:
            self._namespaces = self._own_namespaces()
            write_bundle(self._bundle, self._namespaces, f"{self._cgroup}/{_CONTAINER}")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @staticmethod
    def _own_namespaces() -> dict[str, int]:
        try:
            return new_namespaces()
        except OSError as error:
            msg = f"no namespaces for the reference container: {error.strerror}"
            raise OciReferenceFailed(msg) from error

    def cycle(self) -> dict[str, float]:
        """Create, start, kill and delete one container.

        Returns:
            Seconds by step, and their sum as `cycle`.

        Raises:
            OciReferenceFailed: a step failed, took longer than 30 s, or did not do what its exit code
                reports.
        """
        name = f"reference-{next(self._numbers)}"
        try:
            with self._watchdog():
                return self._cycle(name)
        except BaseException:
            self._run("delete", "--force", name)
            raise

    def close(self) -> None:
        """Remove containers, bundle, state and cgroups."""
        for state in sorted(self._state.glob("reference-*")):
            with self._watchdog():
                self._run("delete", "--force", state.name)
        for descriptor in self._namespaces.values():
            os.close(descriptor)
        self._namespaces = {}
        unmount_below([self._folder])
        shutil.rmtree(self._folder, ignore_errors=True)
        for cgroup in self._cgroups():
            remove_cgroups([cgroup])
            remove_empty(cgroup.parent, up_to=cgroup.parent.parent)

    @property
    def _state(self) -> Path:
        return self._folder / "state"

    def _cgroups(self, *below: str) -> list[Path]:
        found = [hierarchy.joinpath(self._cgroup, *below) for hierarchy in cgroup_hierarchies()]
        return [path for path in found if path.is_dir()]

    def _cycle(self, name: str) -> dict[str, float]:
        took = {
            "create": self._timed(
                "create", "--bundle", str(self._bundle), "--pid-file", str(self._pid_file), name
            )
        }
        try:
            pid = int(self._pid_file.read_text(encoding="ascii"))
        except (OSError, ValueError) as error:
            raise OciReferenceFailed(
                f"{self.binary.name} created a container and named no process: {error}"
            ) from error
        try:
            # unlike a process id, it never means a later process
            process = os.pidfd_open(pid)
        except ProcessLookupError as error:
            raise OciReferenceFailed(
                f"{self.binary.name} created a container whose process {pid} is not there"
            ) from error
        try:
            took["start"] = self._timed("start", name)
            self._check_running(pid)
            took["kill"] = self._timed(
                "kill", name, str(signal.SIGTERM.value), until=lambda: _wait_for_exit(process, pid)
            )
            took["delete"] = self._timed("delete", name)
        finally:
            os.close(process)
        self._check_deleted(name)
        return {**took, CYCLE: sum(took.values())}

    def _timed(self, *arguments: str, until: Callable[[], None] | None = None) -> float:
        begin = time.perf_counter()
        code = self._run(*arguments)
        if until is not None and code == 0:
            until()
        took = time.perf_counter() - begin
        if code != 0:
            raise OciReferenceFailed(
                f"{self.binary} {arguments[0]} ended with {code}: {self._last_error_line()}"
            )
        return took

    def _run(self, *arguments: str) -> int:
        """Run the OCI runtime until it exits; its standard error goes to a file, because a pipe would stay
        open in the container's process.
        """
        command = [
            str(self.binary),
            "--root",
            str(self._state),
            "--log",
            str(self._log),
            "--log-format",
            "json",
            *arguments,
        ]
        try:
            with self._stderr.open("wb") as stderr:
                self._current = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr
                )
                return (
                    self._current.wait()
                )  # without a timeout: with one, Python polls only every few milliseconds
        except OSError as error:
            raise OciReferenceFailed(f"{self.binary} cannot be run: {error.strerror}") from error
        finally:
            self._current = None

    @contextmanager
    def _watchdog(self) -> Iterator[None]:
        """Kill a step that hangs."""
        watchdog = threading.Timer(_STEP_SECONDS, self._kill_current)
        watchdog.daemon = True
        watchdog.start()
        try:
            yield
        finally:
            watchdog.cancel()

    def _kill_current(self) -> None:
        if self._current is not None:
            self._current.kill()

    def _last_error_line(self) -> str:
        texts = []
        for path in (self._stderr, self._log):
            with suppress(OSError):
                texts.append(path.read_text(encoding="utf-8", errors="replace").strip())
        return next((text.splitlines()[-1][-500:] for text in texts if text), "nothing")

    def _check_running(self, pid: int) -> None:
        """Check that the process is `pause`, waits for its signal, and is in the configured namespaces."""
        end = time.monotonic() + self.start_seconds
        while (command := _command(pid)) != PROCESS or not _sleeps(pid):
            if time.monotonic() > end:
                raise OciReferenceFailed(
                    f"{self.binary.name} started a container, but its process {pid} is {command or 'gone'}"
                )
            time.sleep(_LOOK_SECONDS)
        spaces = Path(f"/proc/{pid}/ns")
        for name, descriptor in self._namespaces.items():
            if (spaces / JOINED[name][0]).stat().st_ino != os.fstat(descriptor).st_ino:
                raise OciReferenceFailed(f"{self.binary.name} did not join the {name} namespace")
        if (spaces / "mnt").stat().st_ino == Path("/proc/self/ns/mnt").stat().st_ino:
            raise OciReferenceFailed(f"{self.binary.name} created no mount namespace")

    def _check_deleted(self, name: str) -> None:
        left = [path for path in (self._state / name, *self._cgroups(name)) if path.exists()]
        if left:
            raise OciReferenceFailed(
                f"{self.binary.name} deleted a container and left {', '.join(map(str, left))}"
            )


def measure_oci_runtime(binary: Path, rounds: int, directory: Path, run_id: str) -> dict[str, list[float]]:
    """Measure the OCI runtime alone.

    Args:
        binary: runc, crun or another OCI runtime with the same command line.
        rounds: number of rounds after one warm-up round, which is dropped.
        directory: of the run.
        run_id: its id.

    Returns:
        Seconds of each round by step: `create`, `start`, `kill`, `delete`, and their sum `cycle`.

    Raises:
        OciReferenceFailed: a round failed; nothing is left behind.
    """
    with OciReference(binary, directory, run_id) as reference:
        reference.cycle()
        durations = [reference.cycle() for _ in range(rounds)]
    return {step: [each[step] for each in durations] for step in (*STEPS, CYCLE)}


def remove_leftover_references(run_id: str) -> list[str]:
    """Remove what a run left behind that was killed within a cycle: at most one waiting process, and its
    cgroups.

    Args:
        run_id: of a run that no longer exists.

    Returns:
        Descriptions of what could not be removed; normally none.
    """
    tops = [hierarchy / "critests" / run_id / _FOLDER for hierarchy in cgroup_hierarchies()]
    existing = [top for top in tops if top.is_dir()]
    for directory in (Path(parent) for top in existing for parent, _, _ in os.walk(top)):
        for pid in (directory / "cgroup.procs").read_text(encoding="ascii").split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    left = remove_cgroups(existing)
    for top in existing:
        remove_empty(top.parent, up_to=top.parent.parent)
    return left


def _wait_for_exit(process: int, pid: int) -> None:
    ready, _, _ = select.select([process], [], [], _DEATH_SECONDS)
    if not ready:
        raise OciReferenceFailed(
            f"the reference container's process {pid} did not exit on SIGTERM within {_DEATH_SECONDS:g} s"
        )


def _sleeps(pid: int) -> bool:
    """Return whether a process sleeps: `pause` sleeps only when it waits for signals, and misses earlier
    ones.
    """
    return stat_of(pid)[:1] == ["S"]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
