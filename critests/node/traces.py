"""What is written down about a throwaway runtime before it starts, so that anybody can remove what it
left.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from critests.node import places
from critests.node.locks import FileLock, ProcessIdentity

MARK = "CRITESTS_THROWAWAY"
"""Environment variable of the daemon and of all that it starts outside containers; its value is the state
directory.
"""


@dataclass(frozen=True)
class Traces:
    """Everything by which the things of one throwaway runtime are recognised."""

    kind: str
    run_id: str
    token: str
    """Six hexadecimal digits, unique among the throwaways of this machine."""
    state: Path
    """Directory below /run: configuration, socket, log, the daemon's state."""
    root: Path
    """Directory below /var/lib, or where the caller asked for it: images, snapshots."""
    subnets: tuple[str, ...]
    owner: ProcessIdentity
    binaries: tuple[str, ...] = field(default=())
    """Base names of the daemon's and its OCI runtimes' binaries."""

    @property
    def name(self) -> str:
        """Return the name of the state directory."""
        return f"{self.kind}-{self.token}"

    @property
    def bridge(self) -> str:
        """Return the name of the network bridge (at most 15 characters, as the kernel wants)."""
        return f"crt-{self.token}"

    @property
    def network(self) -> str:
        """Return the name of the CNI network."""
        return f"critests-{self.token}"

    @property
    def cgroup(self) -> str:
        """Return the base name of the cgroup below which pods may be put; it goes with the runtime."""
        return f"critests-{self.token}"

    @property
    def cdi(self) -> Path:
        """Return the directory of its own in which the runtime looks for CDI specifications."""
        return self.state / "cdi"

    @property
    def nri(self) -> Path:
        """Return the directory in which its socket for plugins of the Node Resource Interface lies, beside
        those that it starts itself: none.
        """
        return self.state / "nri"

    @property
    def directories(self) -> tuple[Path, ...]:
        """Return the directories below both that are there before the daemon starts."""
        return (self.root / "tmp", self.root / "root", self.state / "cni", self.cdi, self.nri)

    @property
    def sockets(self) -> Path:
        """Return the directory for sockets whose paths would be too long below the state directory."""
        return places.socket_dir(self.token)

    @property
    def lock(self) -> FileLock:
        """Return the lock that the owner holds as long as it lives."""
        return FileLock(self.state / places.LOCK_FILE)

    def write(self) -> None:
        """Write this to the state directory, whole or not at all."""
        text = json.dumps(asdict(self) | {"state": str(self.state), "root": str(self.root)}, indent=1)
        draft = self.state / f"{places.RECORD_FILE}.new"
        draft.write_text(text + "\n", encoding="utf-8")
        draft.replace(self.state / places.RECORD_FILE)

    @classmethod
    def read(cls, state: Path) -> Self | None:
        """Read what was written to a state directory; None where nothing was, as then nothing was made but
        directories.

        Raises:
            ValueError: the file is not ours, or speaks of another directory.
        """
        try:
            data = json.loads((state / places.RECORD_FILE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        try:
            traces = cls(
                kind=data["kind"],
                run_id=data["run_id"],
                token=data["token"],
                state=Path(data["state"]),
                root=Path(data["root"]),
                subnets=tuple(data["subnets"]),
                owner=ProcessIdentity(**data["owner"]),
                binaries=tuple(data["binaries"]),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{state / places.RECORD_FILE} is not the record of a throwaway runtime: {error}"
            ) from error
        if traces.state != state:
            raise ValueError(f"{state / places.RECORD_FILE} speaks of {traces.state}")
        return traces
