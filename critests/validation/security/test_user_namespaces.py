"""UNS: user namespaces of pods, verified by the ID mappings of their processes."""

import pytest

from critests.api import api_pb2 as cri
from critests.lifecycle.user_namespaces import mapped
from critests.testing import (
    EXEC,
    FIRST_ID,
    FIRST_PROCESS,
    HOST,
    IDS,
    MAPPING,
    VIEWS,
    Capability,
    NodeNamespaces,
    RecordVariant,
    Runtime,
    Sandboxes,
    SharedContainers,
    may_be_refused,
    requirement,
    requires,
    unsupported,
    with_user_namespace,
)

EXPECTED = [(0, FIRST_ID, IDS)]
"""The ID mapping of a process in the kernel's form: first ID inside, first ID outside, length."""


@requirement("UNS-01")
@requires(Capability.USER_NAMESPACES)
@pytest.mark.parametrize("number", ["1", "2"], ids=["first", "second"])
def test_every_process_has_the_mapping_of_its_pod(
    shared_containers: SharedContainers, seen_from: str, number: str
) -> None:
    """Every process of every container MUST have exactly the requested mapping of user and group IDs in a pod
    with a user namespace.

    Source: UserNamespace.uids and gids.
    """
    pod = shared_containers.sandbox(namespaces=with_user_namespace())

    process = shared_containers.process(seen_from, in_sandbox=pod, envs={"NUMBER": number})

    assert (process.uid_map, process.gid_map) == (EXPECTED, EXPECTED)


@requirement("UNS-02")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
@pytest.mark.parametrize("seen_from", [*VIEWS, HOST])
def test_the_nodes_user_namespace_is_joined(
    shared_containers: SharedContainers, node_namespaces: NodeNamespaces, seen_from: str
) -> None:
    """Every process of a container MUST be in the node's user namespace with the mode NODE.

    Source: UserNamespace.mode.
    """
    pod = shared_containers.sandbox(namespaces=mapped(cri.UserNamespace(mode=cri.NODE)))

    assert shared_containers.process(seen_from, in_sandbox=pod).namespaces["user"] == node_namespaces["user"]


@requirement("UNS-03")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_form_of_a_pod_without_userns_options(
    shared_containers: SharedContainers, node_namespaces: NodeNamespaces, record_variant: RecordVariant
) -> None:
    """A pod without `userns_options` MAY be in the node's user namespace, or in one of its own.

    Source: NamespaceOption.userns_options; a runtime should assume POD without a mapping if it is not set.
    """
    process = shared_containers.process(EXEC)

    record_variant(
        "the node's" if process.namespaces["user"] == node_namespaces["user"] else str(process.uid_map)
    )
    assert process.status.uids[0] == 0


@requirement("UNS-04")
@pytest.mark.parametrize("mode", [cri.CONTAINER, cri.TARGET], ids=["container", "target"])
def test_user_namespace_modes_container_and_target_are_refused(
    runtime: Runtime, sandboxes: Sandboxes, mode: "cri.NamespaceMode"
) -> None:
    """RunPodSandbox MUST reject a user namespace with the mode CONTAINER or TARGET.

    Source: UserNamespace.mode, which is POD or NODE.
    """
    options = cri.UserNamespace(mode=mode, uids=[MAPPING], gids=[MAPPING])

    runtime.refusal(
        runtime.stub.RunPodSandbox, sandboxes.creation(sandboxes.config(namespaces=mapped(options)))
    )


UNUSUAL_MAPPINGS = {
    "two": ([MAPPING, cri.IDMapping(host_id=FIRST_ID + IDS, container_id=IDS, length=10)],) * 2,
    "two-from-root": ([MAPPING, cri.IDMapping(host_id=FIRST_ID + IDS, container_id=0, length=IDS)],) * 2,
    "without-root": ([cri.IDMapping(host_id=FIRST_ID, container_id=1, length=10)],) * 2,
    "of-no-ids": ([cri.IDMapping(host_id=FIRST_ID, container_id=0, length=0)],) * 2,
    "without-groups": ([MAPPING], []),
    "groups-of-others": ([MAPPING], [cri.IDMapping(host_id=FIRST_ID + IDS, container_id=0, length=IDS)]),
}
"""Mappings of users and groups that a runtime need not offer."""


def rows(mappings: list[cri.IDMapping]) -> list[tuple[int, int, int]]:
    """Return mappings in the kernel's form."""
    return [(each.container_id, each.host_id, each.length) for each in mappings]


@requirement("UNS-05/refused")
@requires(Capability.USER_NAMESPACES)
@pytest.mark.parametrize("case", UNUSUAL_MAPPINGS)
def test_id_mapping_is_set_as_requested_or_refused(
    shared_containers: SharedContainers, sandboxes: Sandboxes, case: str
) -> None:
    """A mapping that a runtime cannot set SHOULD be rejected, and never replaced by another one.

    Source: UserNamespace.uids and gids.
    """
    uids, gids = UNUSUAL_MAPPINGS[case]
    options = cri.UserNamespace(mode=cri.POD, uids=uids, gids=gids)

    with may_be_refused():
        pod = sandboxes.attempt(sandboxes.config(namespaces=mapped(options)))
        process = shared_containers.process(EXEC, in_sandbox=pod)
        assert (process.uid_map, process.gid_map) == (rows(uids), rows(gids))


@requirement("UNS-05/form")
@requires(Capability.USER_NAMESPACES)
@pytest.mark.parametrize("case", UNUSUAL_MAPPINGS)
def test_form_of_unusual_id_mappings(sandboxes: Sandboxes, case: str, record_variant: RecordVariant) -> None:
    """A runtime MAY reject mappings other than one range from 0 with the same IDs for users and groups.

    Source: UserNamespace.uids and gids; containerd and CRI-O accept that one alone.
    """
    uids, gids = UNUSUAL_MAPPINGS[case]
    pod = None

    with may_be_refused():
        options = cri.UserNamespace(mode=cri.POD, uids=uids, gids=gids)
        pod = sandboxes.attempt(sandboxes.config(namespaces=mapped(options)))

    record_variant("refused" if pod is None else "made")
    assert pod is None or pod.state() == cri.SANDBOX_READY


@requirement("UNS-06")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_unsupported_user_namespace_is_refused_or_as_requested(
    runtime: Runtime, shared_containers: SharedContainers, sandboxes: Sandboxes
) -> None:
    """A handler that does not offer user namespaces MUST reject a pod with one, or create it with exactly the
    requested mapping: the pod is never in the node's namespace.

    Source: UserNamespace.mode, RuntimeHandlerFeatures.user_namespaces.
    """
    if runtime.has(Capability.USER_NAMESPACES):
        unsupported("the handler offers user namespaces")

    with may_be_refused():
        pod = sandboxes.attempt(sandboxes.config(namespaces=with_user_namespace()))
        process = shared_containers.process(EXEC, in_sandbox=pod)
        assert (process.uid_map, process.gid_map) == (EXPECTED, EXPECTED)


@requirement("UNS-18")
def test_form_of_an_unsupported_user_namespace(
    runtime: Runtime, shared_containers: SharedContainers, sandboxes: Sandboxes, record_variant: RecordVariant
) -> None:
    """A handler that does not offer user namespaces MAY create one all the same; then every process is in it.

    Source: RuntimeHandlerFeatures.user_namespaces.
    """
    if runtime.has(Capability.USER_NAMESPACES):
        unsupported("the handler offers user namespaces")
    maps = []

    with may_be_refused():
        pod = sandboxes.attempt(sandboxes.config(namespaces=with_user_namespace()))
        maps = [shared_containers.process(view, in_sandbox=pod).uid_map for view in (FIRST_PROCESS, EXEC)]

    record_variant("made" if maps else "refused")
    assert maps in ([], [EXPECTED, EXPECTED])


@requirement("UNS-08")
@requires(Capability.USER_NAMESPACES, Capability.SHARED_KERNEL, Capability.ROOT)
def test_process_has_the_mapped_ids_on_the_host(shared_containers: SharedContainers) -> None:
    """A process of the container MUST have the mapped IDs on the host.

    Source: IDMapping.
    """
    pod = shared_containers.sandbox(namespaces=with_user_namespace())
    user = cri.LinuxContainerSecurityContext(
        run_as_user=cri.Int64Value(value=1000), run_as_group=cri.Int64Value(value=2000)
    )

    inside = shared_containers.process(FIRST_PROCESS, in_sandbox=pod, security_context=user).status
    outside = shared_containers.process(HOST, in_sandbox=pod, security_context=user).status

    assert (inside.uids[0], inside.gids[0]) == (1000, 2000)
    assert (outside.uids, outside.gids) == ((FIRST_ID + 1000,) * 4, (FIRST_ID + 2000,) * 4)


@requirement("UNS-15")
@requires(Capability.USER_NAMESPACES)
def test_a_container_with_another_user_namespace_than_its_pod_is_refused(
    shared_containers: SharedContainers,
) -> None:
    """CreateContainer or StartContainer SHOULD reject a mapping that differs from the sandbox's.

    Source: NamespaceOption.userns_options: a container gets those of its sandbox.
    """
    pod = shared_containers.sandbox(namespaces=with_user_namespace())
    # the range of the host that follows the one of the pod
    other = cri.IDMapping(host_id=FIRST_ID + IDS, container_id=0, length=IDS)
    options = cri.UserNamespace(mode=cri.POD, uids=[other], gids=[other])

    shared_containers.own.refusal(shared_containers.own.config(namespaces=mapped(options)), pod)


@requirement("UNS-10/both-flags")
@requires(Capability.USER_NAMESPACES_HOST_NETWORK)
def test_a_user_namespace_on_the_nodes_network(shared_containers: SharedContainers) -> None:
    """A pod on the node's network MUST have the requested user namespace if runtime and handler offer it.

    Source: RuntimeFeatures.user_namespaces_host_network.
    """
    pod = shared_containers.sandbox(namespaces=with_user_namespace(network=cri.NODE))

    process = shared_containers.process(EXEC, in_sandbox=pod)

    assert (process.uid_map, process.gid_map) == (EXPECTED, EXPECTED)


@requirement("UNS-10/otherwise")
def test_form_of_an_unsupported_user_namespace_on_the_nodes_network(
    runtime: Runtime, shared_containers: SharedContainers, sandboxes: Sandboxes, record_variant: RecordVariant
) -> None:
    """A pod on the node's network with a user namespace MAY be rejected or run if runtime or handler do not
    offer it.

    Source: RuntimeFeatures.user_namespaces_host_network.
    """
    if runtime.has(Capability.USER_NAMESPACES_HOST_NETWORK):
        unsupported("runtime and handler offer user namespaces on the node's network")
    maps = []

    with may_be_refused():
        pod = sandboxes.attempt(sandboxes.config(namespaces=with_user_namespace(network=cri.NODE)))
        maps = shared_containers.process(EXEC, in_sandbox=pod).uid_map

    record_variant("made" if maps else "refused")
    assert maps in ([], EXPECTED)


@requirement("UNS-11")
@pytest.mark.parametrize("shared_with_node", ["pid", "ipc"])
def test_form_of_a_user_namespace_with_namespaces_of_the_node(
    shared_containers: SharedContainers,
    sandboxes: Sandboxes,
    shared_with_node: str,
    record_variant: RecordVariant,
) -> None:
    """A pod with a user namespace and the node's PID or IPC namespace MAY be rejected, or run with it.

    Source: the CRI does not say; the kubelet rejects it.
    """
    namespaces = with_user_namespace()
    setattr(namespaces, shared_with_node, cri.NODE)
    maps = []

    with may_be_refused():
        pod = sandboxes.attempt(sandboxes.config(namespaces=namespaces))
        maps = shared_containers.process(EXEC, in_sandbox=pod).uid_map

    record_variant("made" if maps else "refused")
    assert maps in ([], EXPECTED)
