"""Docker Engine behind the shim cri-dockerd."""

from pathlib import Path
from typing import Final

from critests.kinds.kind import RuntimeKind

CRI_DOCKERD: Final = RuntimeKind(
    name="cri-dockerd",
    title="Docker Engine behind cri-dockerd",
    program="cri-dockerd",
    sockets=(Path("/run/cri-dockerd.sock"),),
)
