"""The kinds of runtime that can be started privately."""

from collections.abc import Mapping

from critests.node.kinds.containerd import CONTAINERD
from critests.node.kinds.crio import CRIO
from critests.node.kinds.kind import ThrowawayKind

KINDS: Mapping[str, ThrowawayKind] = {kind.facts.name: kind for kind in (CONTAINERD, CRIO)}
"""By the name that the user gives to `--node`."""


def forms() -> str:
    """Return what may follow `--node`, for a help text: `containerd[=PATH], crio[=PATH]`."""
    return ", ".join(f"{name}[=PATH]" for name in KINDS)
