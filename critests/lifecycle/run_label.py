"""The label that says which run an object belongs to, so that exactly our own objects are removed, also after
a crash.
"""

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
    """The name of one run of the suite.

    Attributes:
        id: `<epoch seconds>-<6 hex digits>`; sorts by time and is valid as a label value and in an image
            name.
    """

    id: str

    @classmethod
    def new(cls) -> "RunIdentity":
        """Return a name that no other run has."""
        return cls(f"{int(time.time())}-{secrets.token_hex(3)}")

    @property
    def labels(self) -> dict[str, str]:
        """What every sandbox and container of the run is labelled with."""
        return {RUN_LABEL: self.id}

    @property
    def state_directory(self) -> Path:
        """Where the run keeps its lock and what it must clean up; gone after a reboot."""
        return STATE_HOME / self.id

    @property
    def data_directory(self) -> Path:
        """Where container logs and other bulky files of the run live."""
        return DATA_HOME / self.id

    def owns(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels was made by this run."""
        return labels.get(RUN_LABEL) == self.id
