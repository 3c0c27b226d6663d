"""SYS: kernel parameters of pods that the runtime's configuration sets."""

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    DefaultSysctl,
    OwnRuntime,
    configured,
    disruptive,
    requirement,
    requires,
    with_user_namespace,
)

# the largest number that the kernel accepts for this parameter, 2^31 - 1
PINGS_FOR_ALL_GROUPS = DefaultSysctl("net.ipv4.ping_group_range", "0 2147483647")


@requirement("SYS-09/default")
@requires(Capability.USER_NAMESPACES)
@disruptive
@configured(PINGS_FOR_ALL_GROUPS)
def test_default_ping_group_range_does_not_prevent_user_namespaces(own_runtime: OwnRuntime) -> None:
    """A pod with a user namespace SHOULD be ready if the runtime's configuration allows pings to all groups:
    the pod requests no sysctl, and the kernel accepts only groups of the namespace.

    Source: RunPodSandbox. Not stated by the CRI; distributions ship that default.
    """
    sandboxes = own_runtime.sandboxes

    pod = sandboxes.attempt(sandboxes.config(namespaces=with_user_namespace()))

    assert pod.state() == cri.SANDBOX_READY
