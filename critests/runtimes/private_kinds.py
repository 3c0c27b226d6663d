"""The kinds of runtime that critests can start as private instances."""

from collections.abc import Mapping

from critests.runtimes.containerd.containerd_configuration import CONTAINERD
from critests.runtimes.crio.crio_configuration import CRIO
from critests.runtimes.private_kind import ThrowawayKind

KINDS: Mapping[str, ThrowawayKind] = {kind.facts.name: kind for kind in (CONTAINERD, CRIO)}
"""By the name for `--node`."""


def forms() -> str:
    """Return the values of `--node` for a help text: `containerd[=PATH], crio[=PATH]`."""
    return ", ".join(f"{name}[=PATH]" for name in KINDS)


def node_settings() -> list[tuple[str, str, str]]:
    """Return the values of `--node-setting`: the name, the kinds that have it, and what it does."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for kind in KINDS.values():
        for name, setting in kind.node_settings.items():
            kinds.setdefault((name, setting.help), []).append(kind.facts.name)
    return [(name, ", ".join(names), what) for (name, what), names in sorted(kinds.items())]
