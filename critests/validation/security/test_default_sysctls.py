"""SYS: kernel parameters of pods that the runtime's configuration sets."""

from collections.abc import Iterator

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.own_runtime import OwnRuntime, shaped
from critests.fixtures.runtime import Runtime
from critests.lifecycle.user_namespaces import with_user_namespace
from critests.run.context import RuntimeSetup
from critests.run.marks import disruptive, requirement, requires
from critests.runtimes.runtime_settings import DefaultSysctl

PINGS_FOR_ALL_GROUPS = DefaultSysctl("net.ipv4.ping_group_range", "0 2147483647")


@pytest.fixture
def default_sysctl_runtime(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[OwnRuntime]:
    """A runtime whose configuration allows pings to all groups in every pod."""
    with shaped(request, runtime, RuntimeSetup(settings=(PINGS_FOR_ALL_GROUPS,))) as own:
        yield own


@requirement("SYS-09/default")
@requires(Capability.USER_NAMESPACES)
@disruptive
def test_pings_for_everybody_are_no_obstacle_to_user_namespaces(default_sysctl_runtime: OwnRuntime) -> None:
    """A pod with a user namespace SHOULD be ready if the runtime's configuration allows pings to all groups:
    the pod requests no sysctl, and the kernel accepts only groups of the namespace.

    Source: RunPodSandbox. Not stated by the CRI; distributions ship that default.
    """
    sandboxes = default_sysctl_runtime.sandboxes

    pod = sandboxes.attempt(sandboxes.config(namespaces=with_user_namespace()))

    assert pod.state() == cri.SANDBOX_READY
