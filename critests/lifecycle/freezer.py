"""Freezing the cgroup of a container, as a checkpoint or an administrator would."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from critests.lifecycle.process_cgroups import MOUNT, memberships
from critests.lifecycle.waiting import eventually


@dataclass(frozen=True)
class Freezer:
    """The file that freezes a cgroup, what is written to it, and the file that shows when it is done.

    Attributes:
        switch: written to.
        freeze: what freezes.
        thaw: what thaws.
        state_file: read.
        frozen: line that stands in it when every process is frozen.
    """

    switch: Path
    freeze: str
    thaw: str
    state_file: Path
    frozen: str

    @classmethod
    def of_process(cls, pid: int) -> "Freezer | None":
        """Return the freezer of the cgroup of a process; None where there is none, or where it would freeze
        this process as well.
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
        """Freeze, and thaw in the end whatever is left.

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
            # the cgroup goes with the container
            with suppress(OSError):
                self.switch.write_text(self.thaw, encoding="ascii")
