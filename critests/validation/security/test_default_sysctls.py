"""SYS: kernel parameters that pods get from the configuration of the runtime."""

from collections.abc import Iterator

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.own_runtime import OwnRuntime, shaped
from critests.fixtures.runtime import Runtime
from critests.lifecycle.user_namespaces import with_user_namespace
from critests.node.kinds.told import DefaultSysctl
from critests.run.context import Shape
from critests.run.marks import disruptive, requirement, requires

PINGS_FOR_EVERYBODY = DefaultSysctl("net.ipv4.ping_group_range", "0 2147483647")


@pytest.fixture
def runtime_with_a_default(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[OwnRuntime]:
    """A runtime that is told to allow pings to everybody in every pod."""
    with shaped(request, runtime, Shape(told=(PINGS_FOR_EVERYBODY,))) as own:
        yield own


@requirement("SYS-09/default")
@requires(Capability.USER_NAMESPACES)
@disruptive
def test_pings_for_everybody_are_no_obstacle_to_user_namespaces(runtime_with_a_default: OwnRuntime) -> None:
    """Where the configuration of the runtime allows pings to everybody, a pod with a user namespace SHOULD be
    ready all the same: it asks for no sysctl, and the kernel takes only groups that it has.

    Source: RunPodSandbox. Not stated by the CRI; distributions ship that default.
    """
    sandboxes = runtime_with_a_default.sandboxes

    pod = sandboxes.attempt(sandboxes.config(namespaces=with_user_namespace()))

    assert pod.state() == cri.SANDBOX_READY
