"""Docker Engine behind the shim cri-dockerd."""

from pathlib import Path
from typing import Final

from critests.runtimes.runtime_facts import RuntimeKind

CRI_DOCKERD: Final = RuntimeKind(
    name="cri-dockerd",
    title="Docker Engine behind cri-dockerd",
    reported_name="docker",
    program="cri-dockerd",
    sockets=(Path("/run/cri-dockerd.sock"),),
)
