"""NS: the namespaces of a container's processes, compared by their inode numbers."""

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    EXEC,
    FIRST_PROCESS,
    HOST,
    VIEWS,
    Capability,
    NodeNamespaces,
    RecordVariant,
    Runtime,
    SharedContainers,
    may_be_refused,
    requirement,
    requires,
)

POD, CONTAINER, NODE = cri.POD, cri.CONTAINER, cri.NODE
OF_THE_POD = cri.NamespaceOption(network=POD, pid=CONTAINER, ipc=POD)
SECOND_CONTAINER = {"NUMBER": "2"}
"""Environment variables that distinguish a second container."""
NETWORK_OF_THE_NODE = cri.NamespaceOption(network=NODE, pid=CONTAINER, ipc=POD)
ONE_PID_NAMESPACE = cri.NamespaceOption(network=POD, pid=POD, ipc=POD)
PIDS_OF_THE_NODE = cri.NamespaceOption(network=POD, pid=NODE, ipc=POD)
IPC_OF_THE_NODE = cri.NamespaceOption(network=POD, pid=CONTAINER, ipc=NODE)
ALL_OF_THE_NODE = cri.NamespaceOption(network=NODE, pid=NODE, ipc=NODE)


def namespaces_of_two_containers(
    shared_containers: SharedContainers, seen_from: str, namespaces: cri.NamespaceOption
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the namespaces of two containers of one pod."""
    pod = shared_containers.sandbox(namespaces=namespaces)
    return (
        shared_containers.process(seen_from, in_sandbox=pod).namespaces,
        shared_containers.process(seen_from, in_sandbox=pod, envs=SECOND_CONTAINER).namespaces,
    )


@requires(Capability.SHARED_KERNEL, Capability.ROOT)
@pytest.mark.parametrize("seen_from", [*VIEWS, HOST])
@pytest.mark.parametrize(
    ("kind", "namespaces"),
    [
        pytest.param("net", OF_THE_POD, marks=requirement("NS-01"), id="net"),
        pytest.param(
            "pid",
            ONE_PID_NAMESPACE,
            marks=[requirement("NS-04/shared"), requires(Capability.SHARED_PROCESSES)],
            id="pid",
        ),
        pytest.param("ipc", OF_THE_POD, marks=requirement("NS-10"), id="ipc"),
    ],
)
def test_containers_of_a_pod_share_a_namespace_that_is_not_the_nodes(
    shared_containers: SharedContainers,
    node_namespaces: NodeNamespaces,
    seen_from: str,
    kind: str,
    namespaces: cri.NamespaceOption,
) -> None:
    """All processes of a pod's containers MUST be in one network, PID or IPC namespace with the mode POD, and
    not in the node's.

    Source: NamespaceOption.network, pid and ipc.
    """
    first, second = namespaces_of_two_containers(shared_containers, seen_from, namespaces)

    assert first[kind] == second[kind]
    assert first[kind] != node_namespaces[kind]


@requires(Capability.SHARED_KERNEL, Capability.ROOT)
@pytest.mark.parametrize("seen_from", [*VIEWS, HOST])
@pytest.mark.parametrize(
    ("kind", "namespaces"),
    [
        pytest.param("net", NETWORK_OF_THE_NODE, marks=requirement("NS-02"), id="net"),
        pytest.param("pid", PIDS_OF_THE_NODE, marks=requirement("NS-05"), id="pid"),
        pytest.param("ipc", IPC_OF_THE_NODE, marks=requirement("NS-11"), id="ipc"),
    ],
)
def test_container_is_in_the_nodes_namespace_with_mode_node(
    shared_containers: SharedContainers,
    node_namespaces: NodeNamespaces,
    seen_from: str,
    kind: str,
    namespaces: cri.NamespaceOption,
) -> None:
    """Every process of a container MUST be in the node's network, PID or IPC namespace with the mode NODE.

    Source: NamespaceOption.network, pid and ipc.
    """
    pod = shared_containers.sandbox(namespaces=namespaces)

    actual = shared_containers.process(seen_from, in_sandbox=pod).namespaces

    assert actual[kind] == node_namespaces[kind]


@requirement("NS-03")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
@pytest.mark.parametrize("seen_from", [*VIEWS, HOST])
def test_container_has_a_pid_namespace_of_its_own(
    shared_containers: SharedContainers, node_namespaces: NodeNamespaces, seen_from: str
) -> None:
    """The processes of a container MUST be in a PID namespace of their own with the mode CONTAINER, which
    neither the node nor another container of the pod has.

    Source: NamespaceOption.pid.
    """
    first, second = namespaces_of_two_containers(shared_containers, seen_from, OF_THE_POD)

    assert len({first["pid"], second["pid"], node_namespaces["pid"]}) == 3


@requirement("NS-03")
def test_first_process_has_pid_1_and_sees_only_its_descendants(shared_containers: SharedContainers) -> None:
    """The first process of a container MUST have PID 1 with the mode CONTAINER, and /proc MUST show its
    descendants only.

    Source: NamespaceOption.pid.
    """
    questions = {"number": "echo $$", "others": "cd /proc; for each in [0-9]*; do echo $each; done"}

    process = shared_containers.process(FIRST_PROCESS, questions=questions)

    assert process.answer("number") == "1"
    # PIDs of a new namespace start at 1, so that these few processes do not reach 200
    assert [int(number) for number in process.answer("others").split() if int(number) > 200] == []


@requirement("NS-04/pid-1")
@requires(Capability.SHARED_PROCESSES)
def test_pid_1_of_a_shared_pid_namespace(
    shared_containers: SharedContainers, record_variant: RecordVariant
) -> None:
    """Process 1 of a pod with a shared PID namespace MAY be any program; with containerd and CRI-O it is the
    pause program.

    Source: not stated by the CRI.
    """
    pod = shared_containers.sandbox(namespaces=ONE_PID_NAMESPACE)

    process = shared_containers.process(EXEC, in_sandbox=pod, questions={"one": "cat /proc/1/cmdline"})

    command = process.answer("one").replace("\0", " ").strip()
    record_variant(command.partition(" ")[0])
    assert command


@requirement("NS-13/private")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
@pytest.mark.parametrize("seen_from", [*VIEWS, HOST])
@pytest.mark.parametrize("pod", ["own", "node"])
def test_mount_namespace_is_never_the_nodes(
    shared_containers: SharedContainers, node_namespaces: NodeNamespaces, seen_from: str, pod: str
) -> None:
    """Every process of a container MUST be in a mount namespace of the container's own, whatever other
    namespaces are the node's.

    Source: NamespaceOption, which has no such namespace to share.
    """
    first, second = namespaces_of_two_containers(
        shared_containers, seen_from, OF_THE_POD if pod == "own" else ALL_OF_THE_NODE
    )

    assert len({first["mnt"], second["mnt"], node_namespaces["mnt"]}) == 3


@requirement("NS-13/private")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
@pytest.mark.parametrize("seen_from", [*VIEWS, HOST])
def test_uts_namespace_of_a_pod_is_not_the_nodes(
    shared_containers: SharedContainers, node_namespaces: NodeNamespaces, seen_from: str
) -> None:
    """The processes of a container MUST NOT be in the node's UTS namespace if the pod has a network of its
    own, as their hostname would be the node's.

    Source: PodSandboxConfig.hostname.
    """
    pod = shared_containers.sandbox(namespaces=OF_THE_POD)

    actual = shared_containers.process(seen_from, in_sandbox=pod).namespaces

    assert actual["uts"] != node_namespaces["uts"]


@requirement("NS-13/host-network")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_uts_namespace_of_a_pod_on_the_nodes_network(
    shared_containers: SharedContainers, node_namespaces: NodeNamespaces, record_variant: RecordVariant
) -> None:
    """The UTS namespace of a pod on the node's network MAY be the node's, or one with the same hostname.

    Source: PodSandboxConfig.hostname; the CRI does not say.
    """
    pod = shared_containers.sandbox(namespaces=NETWORK_OF_THE_NODE)

    process = shared_containers.process(EXEC, in_sandbox=pod, questions={"name": "hostname"})

    record_variant("the node's" if process.namespaces["uts"] == node_namespaces["uts"] else "another")
    assert process.answer("name") == node_namespaces.hostname


@requirement("NS-15")
@requires(Capability.CGROUP_V2, Capability.SHARED_KERNEL, Capability.ROOT)
@pytest.mark.parametrize("seen_from", [*VIEWS, HOST])
def test_cgroup_namespace_is_not_the_nodes(
    shared_containers: SharedContainers, node_namespaces: NodeNamespaces, seen_from: str
) -> None:
    """Every process of a container SHOULD be in a cgroup namespace other than the node's with cgroup v2.

    Source: not stated by the CRI; otherwise the container can read its place in the node's cgroup hierarchy.
    """
    assert shared_containers.process(seen_from).namespaces["cgroup"] != node_namespaces["cgroup"]


@requirement("NS-16")
@pytest.mark.parametrize(
    "namespaces",
    [OF_THE_POD, NETWORK_OF_THE_NODE, IPC_OF_THE_NODE, ALL_OF_THE_NODE],
    ids=["of-the-pod", "network-of-the-node", "ipc-of-the-node", "all-of-the-node"],
)
def test_status_of_a_sandbox_reports_its_namespaces(
    runtime: Runtime, shared_containers: SharedContainers, namespaces: cri.NamespaceOption
) -> None:
    """PodSandboxStatus MUST report the namespace modes of the request.

    Source: LinuxPodSandboxStatus.namespaces.
    """
    pod = shared_containers.sandbox(namespaces=namespaces)

    status = runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=pod.id)).status

    options = status.linux.namespaces.options
    assert (options.network, options.pid, options.ipc) == (namespaces.network, namespaces.pid, namespaces.ipc)


@requirement("NS-17")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
@pytest.mark.parametrize("seen_from", [*VIEWS, HOST])
def test_time_namespace_is_the_nodes(
    shared_containers: SharedContainers, node_namespaces: NodeNamespaces, seen_from: str
) -> None:
    """Every process of a container SHOULD be in the node's time namespace, as no request changes it.

    Source: NamespaceOption, which has no such namespace; the default of the OCI runtime specification.
    """
    assert shared_containers.process(seen_from).namespaces.get("time") == node_namespaces.get("time")


@requirement("NS-12")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_form_of_ipc_mode_container(
    shared_containers: SharedContainers, node_namespaces: NodeNamespaces, record_variant: RecordVariant
) -> None:
    """The IPC mode CONTAINER MAY be rejected, or result in an IPC namespace of the container or the pod; it
    is not the node's.

    Source: NamespaceOption.ipc; the kubelet never requests it.
    """
    alone = cri.NamespaceOption(network=POD, pid=CONTAINER, ipc=CONTAINER)
    of_the_pod = shared_containers.process(EXEC).namespaces["ipc"]
    actual = "refused"

    with may_be_refused():
        actual = shared_containers.process(EXEC, namespaces=alone).namespaces["ipc"]

    record_variant({"refused": "refused", of_the_pod: "the pod's"}.get(actual, "the container's"))
    assert actual != node_namespaces["ipc"]


@requirement("NS-14")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_form_of_another_network_mode_than_the_pods(
    shared_containers: SharedContainers, node_namespaces: NodeNamespaces, record_variant: RecordVariant
) -> None:
    """A container with the node's network in a pod with its own network MAY be rejected, or get either.

    Source: NamespaceOption.network; containers use their sandbox's network according to the CRI.
    """
    of_the_pod = shared_containers.process(EXEC).namespaces["net"]
    actual = "refused"

    with may_be_refused():
        actual = shared_containers.process(EXEC, namespaces=NETWORK_OF_THE_NODE).namespaces["net"]

    forms = {"refused": "refused", of_the_pod: "the pod's", node_namespaces["net"]: "the node's"}
    record_variant(forms.get(actual, "a third one"))
    assert actual in forms


@requirement("NS-18")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_form_of_pid_mode_pod_in_a_sandbox_with_mode_container(
    shared_containers: SharedContainers, node_namespaces: NodeNamespaces, record_variant: RecordVariant
) -> None:
    """A container with the PID mode POD in a sandbox with the mode CONTAINER MAY be rejected, or join a
    process of the sandbox; it is not in the node's PID namespace.

    Source: NamespaceOption.pid; the CRI does not say.
    """
    actual = "refused"

    with may_be_refused():
        actual = shared_containers.process(EXEC, namespaces=ONE_PID_NAMESPACE).namespaces["pid"]

    record_variant("refused" if actual == "refused" else "it starts")
    assert actual != node_namespaces["pid"]
