"""The record of a private runtime, written before it starts, so that any process can clean up."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from critests.node.run_state import run_directories
from critests.node.run_state.locks import FileLock, ProcessIdentity
from critests.runtimes.runtime_paths import RuntimePaths

MARK = "CRITESTS_THROWAWAY"
"""Environment variable of the daemon and of all processes that it starts outside containers; its value is the
state directory.
"""


@dataclass(frozen=True)
class Footprint(RuntimePaths):
    """Everything needed to recognise the processes, files and mounts of one private runtime."""

    owner: ProcessIdentity
    binaries: tuple[str, ...] = field(default=())
    """Base names of the daemon's and its OCI runtimes' binaries."""

    @property
    def sockets(self) -> Path:
        """Return the directory for sockets whose paths would be too long below the state directory."""
        return run_directories.socket_dir(self.token)

    @property
    def lock(self) -> FileLock:
        """Return the lock that the owner holds while it runs."""
        return FileLock(self.state / run_directories.LOCK_FILE)

    def write(self) -> None:
        """Write this to the state directory, atomically."""
        text = json.dumps(asdict(self) | {"state": str(self.state), "root": str(self.root)}, indent=1)
        draft = self.state / f"{run_directories.RECORD_FILE}.new"
        draft.write_text(text + "\n", encoding="utf-8")
        draft.replace(self.state / run_directories.RECORD_FILE)

    @classmethod
    def read(cls, state: Path) -> Self | None:
        """Read the record in a state directory; None without one, when nothing but directories was created.

        Raises:
            ValueError: the file is not a record of the suite, or that of another directory.
        """
        try:
            data = json.loads((state / run_directories.RECORD_FILE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        try:
            footprint = cls(
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
                f"{state / run_directories.RECORD_FILE} is not the record of a private runtime: {error}"
            ) from error
        if footprint.state != state:
            raise ValueError(f"{state / run_directories.RECORD_FILE} is the record of {footprint.state}")
        return footprint
