"""RES: oom_score_adj, which tells the kernel whom to kill first."""

from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime, may_be_refused
from critests.fixtures.shared_containers import SharedContainers
from critests.lifecycle.process import FIRST_PROCESS, HOST, VIEWS
from critests.run.marks import requirement, requires
from critests.run.outcomes import blocked, unsupported

LOWER = -997
"""What the kubelet asks for in guaranteed pods."""
ELSEWHERE = pytest.param(HOST, marks=requires(Capability.SHARED_KERNEL, Capability.ROOT))


@pytest.fixture(autouse=True)
def _our_kernel(runtime: Runtime) -> None:
    """Whom a kernel of the sandbox's own would kill first says nothing of the node's."""
    runtime.need_our_kernel()


@requirement("RES-12/from-own-value")
@pytest.mark.parametrize("seen_from", [*VIEWS, ELSEWHERE])
def test_oom_score_is_the_requested_one(shared: SharedContainers, seen_from: str) -> None:
    """Every process of a container MUST have the requested oom_score_adj.

    Source: LinuxContainerResources.oom_score_adj.
    """
    # a score that nothing else on a node has
    process = shared.process(seen_from, resources=cri.LinuxContainerResources(oom_score_adj=789))

    assert process.oom_score_adj == 789


@requirement("RES-12/below")
@requires(Capability.DAEMON_SYS_RESOURCE)
def test_oom_score_below_that_of_the_daemon(shared: SharedContainers, seen_from: str) -> None:
    """Every process of a container MUST have an oom_score_adj below zero where the daemon may give one.

    Source: LinuxContainerResources.oom_score_adj; the kubelet sends one for guaranteed pods.
    """
    process = shared.process(seen_from, resources=cri.LinuxContainerResources(oom_score_adj=-997))

    assert process.oom_score_adj == -997


@requirement("RES-13")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_a_score_that_the_daemon_may_not_give_is_its_own(runtime: Runtime, shared: SharedContainers) -> None:
    """Where a runtime that may not give an oom_score_adj takes it all the same, the container MUST have the
    lowest that it may give: its own.

    Source: LinuxContainerResources.oom_score_adj; runtimes offer it for nodes in containers.
    """
    daemon = runtime.context.daemon_pid
    if daemon is None:
        blocked("the daemon's process cannot be seen, and so not its own oom_score_adj")
    if runtime.has(Capability.DAEMON_SYS_RESOURCE):
        unsupported("clamping of oom_score_adj: the daemon may give any")
    own = int(Path(f"/proc/{daemon}/oom_score_adj").read_text(encoding="ascii"))
    if own <= LOWER:
        blocked(f"the daemon has {own} itself, so that nothing lower can be asked for")

    process = None
    with may_be_refused():
        process = shared.process(FIRST_PROCESS, resources=cri.LinuxContainerResources(oom_score_adj=LOWER))
    if process is None:
        unsupported(f"clamping of oom_score_adj: a container with {LOWER} is refused")

    assert process.oom_score_adj == own


@requirement("RES-31")
def test_an_oom_score_that_cannot_be_is_refused(containers: Containers) -> None:
    """An oom_score_adj above 1000 SHOULD be refused when the container is created or started, and
    what was refused when it was created SHOULD NOT be left.

    Source: judgement; the kernel takes no such score.
    """
    config = containers.config()
    config.linux.resources.oom_score_adj = 1001

    containers.refusal(config)
