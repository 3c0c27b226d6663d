"""The label with an object's run, so that only our own objects are removed, also after a crash."""

import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

RUN_LABEL = "critests.run"
RUN_ID = re.compile(r"\d{9,11}-[0-9a-f]{6}")
STATE_HOME = Path("/run/critests")
DATA_HOME = Path("/var/lib/critests")


@dataclass(frozen=True)
class RunIdentity:
    """The identity of one run of the suite.

    Attributes:
        id: `<epoch seconds>-<6 hex digits>`; sorts by time and is valid as a label value and in an image
            name.
    """

    id: str

    @classmethod
    def new(cls) -> "RunIdentity":
        """Return a new identity."""
        return cls(f"{int(time.time())}-{secrets.token_hex(3)}")

    @property
    def labels(self) -> dict[str, str]:
        """The labels of every sandbox and container of the run."""
        return {RUN_LABEL: self.id}

    @property
    def state_directory(self) -> Path:
        """The run's lock and what it must clean up; on a file system that is empty after a reboot."""
        return STATE_HOME / self.id

    @property
    def data_directory(self) -> Path:
        """Container logs and other large files of the run."""
        return DATA_HOME / self.id

    def owns(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels belongs to this run."""
        return labels.get(RUN_LABEL) == self.id
