"""UNS: user namespaces of pods, told by the mappings of their processes."""

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.node_namespaces import NodeNamespaces
from critests.fixtures.runtime import Runtime, may_be_refused
from critests.fixtures.sandboxes import Sandboxes
from critests.fixtures.session import Observe
from critests.fixtures.shared_containers import SharedContainers
from critests.lifecycle.process import EXEC, FIRST_PROCESS, HOST, VIEWS
from critests.lifecycle.user_namespaces import FIRST_ID, IDS, MAPPING, mapped, with_user_namespace
from critests.run.marks import requirement, requires
from critests.run.outcomes import unsupported

MINE = [(0, FIRST_ID, IDS)]
"""What the kernel says of a process with the mapping."""


@requirement("UNS-01")
@requires(Capability.USER_NAMESPACES)
@pytest.mark.parametrize("number", ["1", "2"], ids=["first", "second"])
def test_every_process_has_the_mapping_of_its_pod(
    shared: SharedContainers, seen_from: str, number: str
) -> None:
    """In a pod with a user namespace, every process of every container MUST have exactly the mapping of user
    and group ids that was requested.

    Source: UserNamespace.uids and gids.
    """
    pod = shared.sandbox(namespaces=with_user_namespace())

    process = shared.process(seen_from, in_sandbox=pod, envs={"NUMBER": number})

    assert (process.uid_map, process.gid_map) == (MINE, MINE)


@requirement("UNS-02")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
@pytest.mark.parametrize("seen_from", [*VIEWS, HOST])
def test_the_nodes_user_namespace_is_joined(
    shared: SharedContainers, node_namespaces: NodeNamespaces, seen_from: str
) -> None:
    """With the user namespace of the NODE, every process of a container MUST be in the node's.

    Source: UserNamespace.mode.
    """
    pod = shared.sandbox(namespaces=mapped(cri.UserNamespace(mode=cri.NODE)))

    assert shared.process(seen_from, in_sandbox=pod).namespaces["user"] == node_namespaces["user"]


@requirement("UNS-03")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_a_pod_that_says_nothing_of_user_namespaces(
    shared: SharedContainers, node_namespaces: NodeNamespaces, observe: Observe
) -> None:
    """A pod without `userns_options` MAY be in the node's user namespace, or in one of its own.

    Source: NamespaceOption.userns_options, which is to be assumed POD where it is absent, without a mapping.
    """
    found = shared.process(EXEC)

    observe("the node's" if found.namespaces["user"] == node_namespaces["user"] else str(found.uid_map))
    assert found.status.uids[0] == 0


@requirement("UNS-04")
@pytest.mark.parametrize("mode", [cri.CONTAINER, cri.TARGET], ids=["container", "target"])
def test_user_namespaces_of_a_container_alone_are_refused(
    runtime: Runtime, sandboxes: Sandboxes, mode: "cri.NamespaceMode"
) -> None:
    """RunPodSandbox MUST refuse a user namespace that is the CONTAINER's or a TARGET's.

    Source: UserNamespace.mode, which is POD or NODE.
    """
    options = cri.UserNamespace(mode=mode, uids=[MAPPING], gids=[MAPPING])

    runtime.refusal(
        runtime.stub.RunPodSandbox, sandboxes.creation(sandboxes.config(namespaces=mapped(options)))
    )


OTHERS = {
    "two": ([MAPPING, cri.IDMapping(host_id=FIRST_ID + IDS, container_id=IDS, length=10)],) * 2,
    "without-root": ([cri.IDMapping(host_id=FIRST_ID, container_id=1, length=10)],) * 2,
    "of-no-ids": ([cri.IDMapping(host_id=FIRST_ID, container_id=0, length=0)],) * 2,
    "without-groups": ([MAPPING], []),
    "groups-of-others": ([MAPPING], [cri.IDMapping(host_id=FIRST_ID + IDS, container_id=0, length=IDS)]),
}
"""Mappings of users and groups that a runtime may be unable to make."""


def rows(mappings: list[cri.IDMapping]) -> list[tuple[int, int, int]]:
    """Return mappings as the kernel shows them."""
    return [(each.container_id, each.host_id, each.length) for each in mappings]


@requirement("UNS-05/refused")
@requires(Capability.USER_NAMESPACES)
@pytest.mark.parametrize("case", OTHERS)
def test_a_mapping_is_made_as_requested_or_refused(
    shared: SharedContainers, sandboxes: Sandboxes, case: str
) -> None:
    """A mapping that a runtime cannot make SHOULD be refused, and never be made into another one.

    Source: UserNamespace.uids and gids.
    """
    uids, gids = OTHERS[case]
    options = cri.UserNamespace(mode=cri.POD, uids=uids, gids=gids)

    with may_be_refused():
        pod = sandboxes.attempt(sandboxes.config(namespaces=mapped(options)))
        process = shared.process(EXEC, in_sandbox=pod)
        assert (process.uid_map, process.gid_map) == (rows(uids), rows(gids))


@requirement("UNS-05/form")
@requires(Capability.USER_NAMESPACES)
@pytest.mark.parametrize("case", OTHERS)
def test_which_mappings_a_runtime_makes(sandboxes: Sandboxes, case: str, observe: Observe) -> None:
    """A runtime MAY refuse mappings other than one range from 0 with the same ids for users and groups.

    Source: UserNamespace.uids and gids; both big runtimes make that one alone.
    """
    uids, gids = OTHERS[case]
    made = None

    with may_be_refused():
        options = cri.UserNamespace(mode=cri.POD, uids=uids, gids=gids)
        made = sandboxes.attempt(sandboxes.config(namespaces=mapped(options)))

    observe("refused" if made is None else "made")
    assert made is None or made.state() == cri.SANDBOX_READY


@requirement("UNS-06")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_a_user_namespace_that_is_not_offered_is_refused_or_real(
    runtime: Runtime, shared: SharedContainers, sandboxes: Sandboxes
) -> None:
    """A handler that does not offer user namespaces MUST refuse a pod with one, or make one with exactly the
    requested mapping: never may the pod be in the node's.

    Source: UserNamespace.mode, RuntimeHandlerFeatures.user_namespaces.
    """
    if runtime.has(Capability.USER_NAMESPACES):
        unsupported("the handler offers user namespaces")

    with may_be_refused():
        pod = sandboxes.attempt(sandboxes.config(namespaces=with_user_namespace()))
        process = shared.process(EXEC, in_sandbox=pod)
        assert (process.uid_map, process.gid_map) == (MINE, MINE)


@requirement("UNS-18")
def test_what_becomes_of_a_user_namespace_that_is_not_offered(
    runtime: Runtime, shared: SharedContainers, sandboxes: Sandboxes, observe: Observe
) -> None:
    """A handler that does not offer user namespaces MAY make one all the same; then every process is in it.

    Source: RuntimeHandlerFeatures.user_namespaces.
    """
    if runtime.has(Capability.USER_NAMESPACES):
        unsupported("the handler offers user namespaces")
    found = []

    with may_be_refused():
        pod = sandboxes.attempt(sandboxes.config(namespaces=with_user_namespace()))
        found = [shared.process(view, in_sandbox=pod).uid_map for view in (FIRST_PROCESS, EXEC)]

    observe("made" if found else "refused")
    assert found in ([], [MINE, MINE])


@requirement("UNS-08")
@requires(Capability.USER_NAMESPACES, Capability.SHARED_KERNEL, Capability.ROOT)
def test_the_host_sees_a_process_by_its_mapped_user(shared: SharedContainers) -> None:
    """On the host a process of the container MUST have the ids that its own are mapped to.

    Source: IDMapping.
    """
    pod = shared.sandbox(namespaces=with_user_namespace())
    user = cri.LinuxContainerSecurityContext(
        run_as_user=cri.Int64Value(value=1000), run_as_group=cri.Int64Value(value=2000)
    )

    inside = shared.process(FIRST_PROCESS, in_sandbox=pod, security_context=user).status
    outside = shared.process(HOST, in_sandbox=pod, security_context=user).status

    assert (inside.uids[0], inside.gids[0]) == (1000, 2000)
    assert (outside.uids, outside.gids) == ((FIRST_ID + 1000,) * 4, (FIRST_ID + 2000,) * 4)


@requirement("UNS-15")
@requires(Capability.USER_NAMESPACES)
def test_a_container_with_another_user_namespace_than_its_pod_is_refused(shared: SharedContainers) -> None:
    """A container that asks for another mapping than its sandbox has SHOULD be refused.

    Source: NamespaceOption.userns_options: a container is given those of its sandbox.
    """
    pod = shared.sandbox(namespaces=with_user_namespace())
    other = cri.IDMapping(host_id=FIRST_ID + IDS, container_id=0, length=IDS)
    options = cri.UserNamespace(mode=cri.POD, uids=[other], gids=[other])

    shared.own.refusal(shared.own.config(namespaces=mapped(options)), pod)


@requirement("UNS-10/both-flags")
@requires(Capability.USER_NAMESPACES_HOST_NETWORK)
def test_a_user_namespace_on_the_nodes_network(shared: SharedContainers) -> None:
    """Where runtime and handler offer it, a pod on the node's network MUST have the user namespace that was
    requested.

    Source: RuntimeFeatures.user_namespaces_host_network.
    """
    pod = shared.sandbox(namespaces=with_user_namespace(network=cri.NODE))

    process = shared.process(EXEC, in_sandbox=pod)

    assert (process.uid_map, process.gid_map) == (MINE, MINE)


@requirement("UNS-10/otherwise")
def test_a_user_namespace_on_the_nodes_network_that_is_not_offered(
    runtime: Runtime, shared: SharedContainers, sandboxes: Sandboxes, observe: Observe
) -> None:
    """Where it is not offered, a pod on the node's network with a user namespace MAY be refused, or made.

    Source: RuntimeFeatures.user_namespaces_host_network.
    """
    if runtime.has(Capability.USER_NAMESPACES_HOST_NETWORK):
        unsupported("runtime and handler offer user namespaces on the node's network")
    found = []

    with may_be_refused():
        pod = sandboxes.attempt(sandboxes.config(namespaces=with_user_namespace(network=cri.NODE)))
        found = shared.process(EXEC, in_sandbox=pod).uid_map

    observe("made" if found else "refused")
    assert found in ([], MINE)


@requirement("UNS-11")
@pytest.mark.parametrize("shared_with_node", ["pid", "ipc"])
def test_a_user_namespace_with_other_namespaces_of_the_node(
    shared: SharedContainers, sandboxes: Sandboxes, shared_with_node: str, observe: Observe
) -> None:
    """A pod with a user namespace and the node's pid or ipc namespace MAY be refused, or made with it.

    Source: the CRI does not say; the kubelet refuses it.
    """
    namespaces = with_user_namespace()
    setattr(namespaces, shared_with_node, cri.NODE)
    found = []

    with may_be_refused():
        pod = sandboxes.attempt(sandboxes.config(namespaces=namespaces))
        found = shared.process(EXEC, in_sandbox=pod).uid_map

    observe("made" if found else "refused")
    assert found in ([], MINE)
