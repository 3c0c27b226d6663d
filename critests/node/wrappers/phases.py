"""Where the time of a call went, by the wrappers' records: to CNI plugins, to the OCI runtime, or elsewhere.

"Elsewhere" is by difference: the daemon, the shim, snapshots, and what starting the wrappers' shells costs.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from critests.node.wrappers.stand_in import Invocation


@dataclass(frozen=True)
class Phases:
    """The parts of one call, in seconds."""

    cni: float
    """During which a CNI plugin ran."""
    oci: float
    """During which the OCI runtime ran."""
    rest: float
    """During which neither ran."""

    @property
    def total(self) -> float:
        """Return the sum, which is the length of the call unless CNI and OCI overlapped."""
        return self.cni + self.oci + self.rest


def split(
    begin: float,
    seconds: float,
    *,
    cni: Iterable[Invocation] = (),
    oci: Iterable[Invocation] = (),
    ids: Collection[str] | None = None,
) -> Phases:
    """Divide the time of one call, such as RunPodSandbox, CreateContainer or StartContainer.

    Args:
        begin: when the client began the call, in seconds of `time.monotonic`.
        seconds: how long the client waited.
        cni: invocations of CNI plugins, of this and of other calls; what lies outside the call does not
            count.
        oci: invocations of the OCI runtime, as for `cni`.
        ids: the sandbox and container that the call is about, where several calls go on at once; None for
            all.
    """
    window = (begin, begin + seconds)
    plugins = [_clipped(invocation, window) for invocation in cni if ids is None or invocation.id in ids]
    runtime = [_clipped(invocation, window) for invocation in oci if ids is None or invocation.id in ids]
    return Phases(covered(plugins), covered(runtime), max(0.0, seconds - covered([*plugins, *runtime])))


def covered(intervals: Iterable[tuple[float, float]]) -> float:
    """Return the length of the union of intervals, each a begin and an end; one that ends before it begins is
    empty.
    """
    length, reached = 0.0, float("-inf")
    for begin, end in sorted(intervals):
        length += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return length


def _clipped(invocation: Invocation, window: tuple[float, float]) -> tuple[float, float]:
    return max(invocation.begin, window[0]), min(invocation.end, window[1])
