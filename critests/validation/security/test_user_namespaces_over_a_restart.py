"""UNS: ID mappings of a pod over a restart of the daemon."""

import signal

import pytest

from critests.testing import (
    FIRST_ID,
    IDS,
    Capability,
    OwnRuntime,
    disruptive,
    requirement,
    requires,
    with_user_namespace,
)


@requirement("UNS-14")
@disruptive
@requires(Capability.USER_NAMESPACES)
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL], ids=["in order", "killed"])
def test_id_mapping_is_retained_over_a_restart(own_runtime: OwnRuntime, end: signal.Signals) -> None:
    """The containers of a pod MUST retain their ID mapping over a restart of the daemon, and later containers
    MUST get the same.

    Source: UserNamespace. Not stated by the CRI; the containers of a pod share its namespace.
    """
    pod = own_runtime.sandbox(namespaces=with_user_namespace())
    earlier = own_runtime.container(pod)

    own_runtime.restart(end)

    later = own_runtime.container(pod)
    maps = [each.output("cat", "/proc/self/uid_map").split() for each in (earlier, later)]
    assert maps == [["0", str(FIRST_ID), str(IDS)]] * 2
