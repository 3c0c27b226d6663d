"""The kinds of runtime that can be started privately."""

from collections.abc import Mapping

from critests.runtimes.containerd.containerd_configuration import CONTAINERD
from critests.runtimes.crio.crio_configuration import CRIO
from critests.runtimes.private_kind import ThrowawayKind

KINDS: Mapping[str, ThrowawayKind] = {kind.facts.name: kind for kind in (CONTAINERD, CRIO)}
"""By the name that the user gives to `--node`."""


def forms() -> str:
    """Return what may follow `--node`, for a help text: `containerd[=PATH], crio[=PATH]`."""
    return ", ".join(f"{name}[=PATH]" for name in KINDS)
