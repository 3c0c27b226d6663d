"""RES: oom_score_adj, by which the kernel selects the processes to kill when memory runs out."""

from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    FIRST_PROCESS,
    HOST,
    VIEWS,
    Capability,
    Containers,
    Runtime,
    SharedContainers,
    blocked,
    may_be_refused,
    requirement,
    requires,
    unsupported,
)

GUARANTEED_SCORE = -997
"""The kubelet's value for pods of the QoS class Guaranteed."""
ON_HOST = pytest.param(HOST, marks=requires(Capability.SHARED_KERNEL, Capability.ROOT))


@pytest.fixture(autouse=True)
def _our_kernel(runtime: Runtime) -> None:
    """The OOM score in a kernel of the sandbox's own has no effect on the node."""
    runtime.require_host_kernel()


@requirement("RES-12/from-own-value")
@pytest.mark.parametrize("seen_from", [*VIEWS, ON_HOST])
def test_oom_score_is_the_requested_one(shared_containers: SharedContainers, seen_from: str) -> None:
    """Every process of a container MUST have the requested `oom_score_adj`.

    Source: LinuxContainerResources.oom_score_adj.
    """
    # a score that no other process of a node has
    process = shared_containers.process(seen_from, resources=cri.LinuxContainerResources(oom_score_adj=789))

    assert process.oom_score_adj == 789


@requirement("RES-12/below")
@requires(Capability.DAEMON_SYS_RESOURCE)
def test_oom_score_below_that_of_the_daemon(shared_containers: SharedContainers, seen_from: str) -> None:
    """Every process MUST have the requested `oom_score_adj` below zero if the daemon may set one.

    Source: LinuxContainerResources.oom_score_adj; the kubelet sends one for guaranteed pods.
    """
    process = shared_containers.process(
        seen_from, resources=cri.LinuxContainerResources(oom_score_adj=GUARANTEED_SCORE)
    )

    assert process.oom_score_adj == GUARANTEED_SCORE


@requirement("RES-13")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_oom_score_that_the_daemon_may_not_set_is_its_own(
    runtime: Runtime, shared_containers: SharedContainers
) -> None:
    """A container MUST have the daemon's own `oom_score_adj` if the runtime accepts a lower one that it may
    not set.

    Source: LinuxContainerResources.oom_score_adj; runtimes offer this for nodes that are containers. Only a
    process with CAP_SYS_RESOURCE may lower the score below its own, proc(5).
    """
    daemon = runtime.context.daemon_pid
    if daemon is None:
        blocked("the process table lacks the daemon, so its own oom_score_adj is unknown")
    if runtime.has(Capability.DAEMON_SYS_RESOURCE):
        unsupported("clamping of oom_score_adj: the daemon may set any value")
    own = int(Path(f"/proc/{daemon}/oom_score_adj").read_text(encoding="ascii"))
    if own <= GUARANTEED_SCORE:
        blocked(f"the daemon has {own} itself, so the test has no lower value to request")

    process = None
    with may_be_refused():
        process = shared_containers.process(
            FIRST_PROCESS, resources=cri.LinuxContainerResources(oom_score_adj=GUARANTEED_SCORE)
        )
    if process is None:
        unsupported(f"clamping of oom_score_adj: a container with {GUARANTEED_SCORE} is rejected")

    assert process.oom_score_adj == own


@requirement("RES-31")
def test_oom_score_out_of_range_is_refused(containers: Containers) -> None:
    """CreateContainer or StartContainer SHOULD reject an `oom_score_adj` above 1000, and a rejected
    CreateContainer SHOULD NOT leave a container.

    Source: judgement; the kernel's maximum is 1000.
    """
    config = containers.config()
    config.linux.resources.oom_score_adj = 1001

    containers.refusal(config)
