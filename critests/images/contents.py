"""What a registry serves and what it is told, as its two sides share it: `distribution` for runtimes, `admin`
for the suite.
"""

import os
import secrets
from dataclasses import dataclass, field

from critests.images.build import Builder
from critests.images.repositories import Repositories


@dataclass(eq=False)
class RegistryContents:
    """What every connection to a registry works on.

    Attributes:
        builder: builds an image when it is first asked for.
        repositories: the images by repository, with the faults and the access of each and the requests that
            came.
        admin_token: the right to drive the registry.
        address: `127.0.0.1:5010`; empty before the registry listens.
        serving: false before the registry starts and once it stops.
    """

    builder: Builder
    repositories: Repositories = field(default_factory=Repositories)
    admin_token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    address: str = ""
    serving: bool = False

    def greeting(self) -> dict[str, object]:
        """Return what the registry says of itself to anybody."""
        return {"registry": "critests", "pid": os.getpid(), "address": self.address}
