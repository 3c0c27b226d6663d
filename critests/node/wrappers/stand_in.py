"""Wrappers: writes the scripts, changes their plans, and reads their records."""

import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import ClassVar

from critests.images.platforms import machine_architecture
from critests.images.programs import program
from critests.node.wrappers.actions import Action, write_plan

SHELL = "/bin/sh"
"""Runs the scripts: any POSIX shell."""

_TIMER_LIST = Path("/proc/timer_list")
_PREFIX, _SUFFIX = "now at ", " nsecs"
_AGREE_NANOSECONDS = 10**9
"""Two reads of one clock take less; in a time namespace Python's clock has an offset, time_namespaces(7)."""
_FIELDS = 7
"""Words of a record, as `plan.sh` writes it."""


@dataclass(frozen=True)
class Invocation:
    """One recorded invocation of a wrapper."""

    program: str
    """The base name of the OCI runtime, the CNI plugin or the monitor."""
    operation: str
    """`create`, `start` … or `ADD`, `DEL` …; `-` without one."""
    id: str
    """The container's id (for CNI: the sandbox's); `-` without one."""
    begin: float
    """Seconds of CLOCK_MONOTONIC, which is `time.monotonic` and `time.perf_counter`."""
    seconds: float
    """Duration including planned delays and edits, without the start of the shell and reading the plan."""
    exit_code: int
    edits: int = 0
    """How many of the planned edits found their text."""

    @property
    def end(self) -> float:
        """Return when it ended, on the clock of `begin`."""
        return self.begin + self.seconds


class Wrapper:
    """A script in place of a program. With an empty plan, as initially, it only runs the program."""

    def __init__(self, directory: Path, state: Path | None = None) -> None:
        """Create the directory, which must be on a file system that allows execution.

        Args:
            directory: of the wrapper.
            state: directory of the runtime that calls it, by which waiting processes are found: not every
                daemon passes its environment on.
        """
        self.directory = directory
        self._state = state
        self._plan = directory / "plan"
        self._records = directory / "records"
        self._edit_files = directory / "edits"
        self._counts = directory / "counts"
        self._read = 0
        self._edit_files.mkdir(parents=True)
        self._counts.mkdir()
        self._records.touch()
        self.plan({})

    def plan(self, actions: Mapping[str, Sequence[Action]]) -> None:
        """Set the actions at each operation from now on, in place of the previous plan.

        Args:
            actions: by operation (`create`, `ADD`), by plugin and operation (`bridge/ADD`), or for all (`*`);
                if several keys match an operation, all of their actions apply.

        Raises:
            ValueError: the name of an operation has spaces in it, or is empty.
        """
        write_plan(actions, self._plan, self._edit_files)
        for count in self._counts.iterdir():
            count.unlink()

    def acted(self) -> list[str]:
        """Return the operations at which an action with a turn (`every` above 1) acted, in order, since the
        change of the plan.
        """
        acted = self._counts / "acted"
        return acted.read_text(encoding="utf-8").splitlines() if acted.exists() else []

    @contextmanager
    def planned(self, actions: Mapping[str, Sequence[Action]]) -> Iterator[None]:
        """Set actions within the context; afterwards the plan is empty.

        Raises:
            ValueError: as for `plan`.
        """
        self.plan(actions)
        try:
            yield
        finally:
            self.plan({})

    def records(self) -> list[Invocation]:
        """Return all recorded invocations, in the order of their ends."""
        with self._records.open("rb") as file:
            return list(_invocations(file.read()))

    def take(self) -> list[Invocation]:
        """Return the invocations recorded since the last `take`, in the order of their ends."""
        with self._records.open("rb") as file:
            file.seek(self._read)
            content = file.read()
        whole = content[: content.rfind(b"\n") + 1]
        self._read += len(whole)
        return list(_invocations(whole))

    def _write_script(self, path: Path, name: str, settings: Mapping[str, str | Path], shell: str) -> None:
        everything = {
            "plan": self._plan,
            "records": self._records,
            "edit_files": self._edit_files,
            "counts": self._counts,
            "clock": self._clock(),
            "state": self._state or "",
            **settings,
        }
        lines = [f"critests_{key}={shlex.quote(str(value))}\n" for key, value in everything.items()]
        texts = [
            resources.files(__package__).joinpath(part).read_text(encoding="utf-8")
            for part in ("plan.sh", name)
        ]
        path.write_text("".join([f"#!{shell}\n", *lines, *texts]), encoding="utf-8")
        path.chmod(0o755)

    def _clock(self) -> Path | str:
        """Return a program that prints the time, or an empty text if the kernel's own file can be used."""
        if timer_list_is_usable():
            return ""
        clock = self.directory / "clock"
        clock.write_bytes(program("clock", machine_architecture()))
        clock.chmod(0o755)
        return clock


class _ProgramWrapper(Wrapper):
    """Replaces one program: the daemon is configured with `path` instead of `real`.

    If a wrapper that records is killed, the real program continues; a wrapper that does not record becomes
    the real program by exec.
    """

    _script: ClassVar[str]

    def __init__(self, directory: Path, real: Path, *, shell: str = SHELL, state: Path | None = None) -> None:
        """Write the script, which has the name of the real program, into a directory that does not exist
        yet.
        """
        super().__init__(directory, state)
        self.real = real
        self.path = directory / "bin" / real.name
        self.path.parent.mkdir()
        self._write_script(self.path, self._script, {"program": real.name, "real": real}, shell)


class OciWrapper(_ProgramWrapper):
    """Replaces an OCI runtime (runc, crun)."""

    _script = "oci.sh"


class MonitorWrapper(_ProgramWrapper):
    """Replaces the program of the monitors, such as containerd's shim, in each call by the daemon. A shim
    that serves is the real one.
    """

    _script = "monitor.sh"


class CniWrapper(Wrapper):
    """Replaces every CNI plugin of a directory: the daemon is configured with `plugins` instead of
    `real_plugins`.

    A plugin that another plugin calls (IPAM) is the real one, and its time is part of the caller's.
    """

    def __init__(
        self, directory: Path, real_plugins: Path, *, shell: str = SHELL, state: Path | None = None
    ) -> None:
        """Write a script per plugin into a directory that does not exist yet."""
        super().__init__(directory, state)
        self.real_plugins = real_plugins
        self.plugins = directory / "bin"
        self.plugins.mkdir()
        script = directory / "plugin"
        self._write_script(script, "cni.sh", {"plugins": real_plugins}, shell)
        for plugin in sorted(real_plugins.iterdir()):
            if plugin.is_file():
                (self.plugins / plugin.name).symlink_to(script)


def timer_list_is_usable() -> bool:
    """Return whether /proc/timer_list can be read and agrees with Python's clock (it may be hidden, as in a
    container).
    """
    try:
        # the time is in the third line; the file has hundreds
        with _TIMER_LIST.open(encoding="ascii", errors="replace") as file:
            times = [
                line.strip() for _, line in zip(range(5), file, strict=False) if line.startswith(_PREFIX)
            ]
        return (
            abs(int(times[0].removeprefix(_PREFIX).removesuffix(_SUFFIX)) - time.monotonic_ns())
            < _AGREE_NANOSECONDS
        )
    except (OSError, IndexError, ValueError):
        return False


def _invocations(content: bytes) -> Iterator[Invocation]:
    for line in content.decode(errors="replace").splitlines():
        words = line.split(" ", _FIELDS - 1)
        if len(words) == _FIELDS and all(word.isdecimal() for word in words[:4]):
            begin, end, code, edits = map(int, words[:4])
            yield Invocation(words[4], words[5], words[6], begin / 1e9, (end - begin) / 1e9, code, edits)
