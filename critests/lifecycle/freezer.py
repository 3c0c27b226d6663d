"""Freezes the cgroup of a container, as a checkpoint or an administrator would."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from critests.lifecycle.process_cgroups import MOUNT, memberships
from critests.lifecycle.waiting import eventually


@dataclass(frozen=True)
class Freezer:
    """The files that freeze a cgroup.

    Attributes:
        switch: file to write to.
        freeze: content that freezes.
        thaw: content that thaws.
        state_file: file to read.
        frozen: its line when every process is frozen.
    """

    switch: Path
    freeze: str
    thaw: str
    state_file: Path
    frozen: str

    @classmethod
    def of_process(cls, pid: int) -> "Freezer | None":
        """Return the freezer of a process's cgroup; None if there is none, or if it would freeze this process
        as well.
        """
        own = memberships()
        for cgroup in memberships(pid):
            if cgroup.path == "/" or cgroup in own:
                continue
            if cgroup.controllers == ("freezer",):
                state = cgroup.below(MOUNT / "freezer") / "freezer.state"
                return cls(state, "FROZEN", "THAWED", state, "FROZEN") if state.exists() else None
            folder = cgroup.below(MOUNT)
            if not cgroup.controllers and (folder / "cgroup.freeze").exists():
                return cls(folder / "cgroup.freeze", "1", "0", folder / "cgroup.events", "frozen 1")
        return None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Freeze within the context, and thaw afterwards.

        Raises:
            ConditionNotMet: the kernel did not freeze every process in time.
        """
        self.switch.write_text(self.freeze, encoding="ascii")
        try:
            eventually(
                "a frozen cgroup",
                lambda: self.state_file.read_text(encoding="ascii").splitlines(),
                5,
                lambda lines: self.frozen in lines,
            )
            yield
        finally:
            # the cgroup may be removed together with the container
            with suppress(OSError):
                self.switch.write_text(self.thaw, encoding="ascii")
