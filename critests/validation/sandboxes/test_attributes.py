"""SBA: what a runtime reports about a sandbox."""

import ipaddress
import time
from collections.abc import Callable, Mapping

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Containers,
    RecordVariant,
    Runtime,
    Sandbox,
    Sandboxes,
    is_json,
    requirement,
    requires,
    unsupported,
)

Listed = Callable[[Sandbox], cri.PodSandbox]

# keys as Kubernetes allows them: a DNS name of up to 253 characters, a slash and 63 more; 63 for a value
LABELS = {
    "key with a domain": {"critests.example/role": "front"},
    "longest key and value": {f"{'a' * 61}.{'b' * 63}.{'c' * 63}.{'d' * 63}/{'k' * 63}": "v" * 63},
    "empty value": {"critests-empty": ""},
    "key of the kubelet's": {"io.kubernetes.pod.name": "labelled"},
}
ANNOTATIONS = {
    "64 KiB": {"critests.example/large": "0123456789abcdef" * 4096},
    "empty value": {"critests.example/empty": ""},
    "beyond ASCII": {"critests.example/words": "Größe 大小 размер \U0001f980"},
    "several lines": {"critests.example/lines": "first\nsecond\r\n\tthird\n"},
    "JSON": {"critests.example/json": '{"a": ["b", 1, null], "quote": "\\""}'},
}
NAMESPACES = {
    "all of the pod's own": cri.NamespaceOption(network=cri.POD, pid=cri.POD, ipc=cri.POD),
    "processes per container": cri.NamespaceOption(network=cri.POD, pid=cri.CONTAINER, ipc=cri.POD),
    "the node's network": cri.NamespaceOption(network=cri.NODE, pid=cri.CONTAINER, ipc=cri.POD),
    "the node's processes": cri.NamespaceOption(network=cri.POD, pid=cri.NODE, ipc=cri.POD),
    "the node's IPC": cri.NamespaceOption(network=cri.POD, pid=cri.CONTAINER, ipc=cri.NODE),
}


@pytest.fixture
def listed(runtime: Runtime) -> Listed:
    """Return a function that finds the entry of a sandbox in the list of all sandboxes."""

    def look(sandbox: Sandbox) -> cri.PodSandbox:
        entries = [
            item
            for item in runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
            if item.id == sandbox.id
        ]
        assert len(entries) == 1, f"ListPodSandbox has {len(entries)} entries for the sandbox"
        return entries[0]

    return look


@requirement("SBA-01")
def test_status_of_a_sandbox_has_its_id(runtime: Runtime, sandbox: Sandbox) -> None:
    """PodSandboxStatus MUST return the id of the request.

    Source: PodSandboxStatus.id.
    """
    response = runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox.id))

    assert response.status.id == sandbox.id


@requirement("SBA-02")
def test_sandbox_retains_its_metadata(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """PodSandboxStatus MUST return name, uid, namespace and attempt of the request unchanged.

    Source: PodSandboxStatus.metadata.
    """
    # values that no default has; the CRI does not require that a uid is a UUID
    sandbox = sandboxes.ready(name="one-of-four", namespace="critests-space", uid="2f1c", attempt=3)

    metadata = runtime.stub.PodSandboxStatus(
        cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox.id)
    ).status.metadata

    assert (metadata.name, metadata.namespace, metadata.uid, metadata.attempt) == (
        "one-of-four",
        "critests-space",
        "2f1c",
        3,
    )


@requirement("SBA-03")
def test_created_at_of_a_sandbox_is_within_the_call(
    runtime: Runtime, sandboxes: Sandboxes, listed: Listed
) -> None:
    """created_at MUST be a wall-clock time in nanoseconds within the call of RunPodSandbox, the same in
    PodSandboxStatus and ListPodSandbox.

    Source: PodSandboxStatus.created_at, PodSandbox.created_at.
    """
    config = sandboxes.config()
    request = sandboxes.creation(config)
    call = runtime.timed(runtime.stub.RunPodSandbox, request)
    sandbox = sandboxes.adopt(call.response.pod_sandbox_id, config)

    created_at = runtime.stub.PodSandboxStatus(
        cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox.id)
    ).status.created_at

    assert call.started_ns <= created_at <= call.ended_ns
    assert listed(sandbox).created_at == created_at


@requirement("SBA-04")
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_sandbox_retains_its_labels(
    runtime: Runtime, sandboxes: Sandboxes, listed: Listed, labels: Mapping[str, str]
) -> None:
    """PodSandboxStatus and ListPodSandbox MUST return every label of a sandbox unchanged.

    Source: PodSandboxConfig.labels.
    """
    sandbox = sandboxes.ready(name="labelled", labels=labels)

    status = runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox.id)).status

    given = dict(sandbox.config.labels).items()
    assert labels.items() <= given <= dict(status.labels).items()
    assert given <= dict(listed(sandbox).labels).items()


@requirement("SBA-05")
@pytest.mark.parametrize("annotations", ANNOTATIONS.values(), ids=ANNOTATIONS)
def test_sandbox_retains_its_annotations(
    runtime: Runtime, sandboxes: Sandboxes, listed: Listed, annotations: Mapping[str, str]
) -> None:
    """PodSandboxStatus and ListPodSandbox MUST return annotations of any content unchanged.

    Source: PodSandboxConfig.annotations, PodSandboxStatus.annotations.
    """
    sandbox = sandboxes.ready(annotations=annotations)

    status = runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox.id)).status

    # only this one: SBA-06 is about annotations that a runtime adds
    (key,) = annotations
    assert status.annotations.get(key) == annotations[key]
    assert listed(sandbox).annotations.get(key) == annotations[key]


@requirement("SBA-06/annotations")
def test_sandbox_has_only_the_requested_annotations(
    runtime: Runtime, sandboxes: Sandboxes, listed: Listed
) -> None:
    """PodSandboxStatus and ListPodSandbox MUST return exactly the annotations of the request.

    Source: PodSandboxStatus.annotations.
    """
    sandbox = sandboxes.ready(annotations={"critests.example/one": "1", "critests.example/two": "2"})
    given = dict(sandbox.config.annotations)

    status = runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox.id)).status

    assert dict(status.annotations) == given
    assert dict(listed(sandbox).annotations) == given


@requirement("SBA-06/labels")
def test_labels_that_a_runtime_adds_are_in_status_and_list(
    runtime: Runtime, own_sandbox: Sandbox, listed: Listed, record_variant: RecordVariant
) -> None:
    """PodSandboxStatus and ListPodSandbox MAY return labels that the runtime has added, the same in both.

    Source: PodSandboxStatus.labels; runtimes differ.
    """
    status = runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=own_sandbox.id)).status

    added = sorted(status.labels.keys() - own_sandbox.config.labels.keys())
    record_variant(f"adds {', '.join(added)}" if added else "adds none")
    assert sorted(listed(own_sandbox).labels.keys() - own_sandbox.config.labels.keys()) == added


@requirement("SBA-07")
def test_sandbox_retains_its_runtime_handler(runtime: Runtime, own_sandbox: Sandbox, listed: Listed) -> None:
    """PodSandboxStatus and ListPodSandbox MUST return the handler of the request; if it was empty, an empty
    name or that of one of the runtime's handlers.

    Source: PodSandboxStatus.runtime_handler, PodSandbox.runtime_handler.
    """
    known = {handler.name for handler in runtime.stub.Status(cri.StatusRequest()).runtime_handlers}

    status = runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=own_sandbox.id)).status

    assert status.runtime_handler in ({runtime.handler} if runtime.handler else known | {""})
    assert listed(own_sandbox).runtime_handler == status.runtime_handler


@requirement("SBA-08")
@pytest.mark.parametrize(
    "modes",
    [
        pytest.param(
            each, id=name, marks=requires(Capability.SHARED_PROCESSES) if each.pid == cri.POD else ()
        )
        for name, each in NAMESPACES.items()
    ],
)
def test_status_reports_the_namespaces_of_a_sandbox(
    runtime: Runtime, sandboxes: Sandboxes, modes: cri.NamespaceOption
) -> None:
    """PodSandboxStatus MUST return the namespace modes of the request for network, PID and IPC.

    Source: PodSandboxStatus.linux, NamespaceOption.
    """
    sandbox = sandboxes.ready(namespaces=modes)

    reported = runtime.stub.PodSandboxStatus(
        cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox.id)
    ).status.linux.namespaces.options

    name = cri.NamespaceMode.Name
    assert [name(reported.network), name(reported.pid), name(reported.ipc)] == [
        name(modes.network),
        name(modes.pid),
        name(modes.ipc),
    ]


@requirement("SBA-09")
@requires(Capability.POD_NETWORK)
def test_sandbox_on_the_pod_network_has_an_address(runtime: Runtime, own_sandbox: Sandbox) -> None:
    """PodSandboxStatus MUST return a valid IP address for a pod on the pod network.

    Source: PodSandboxNetworkStatus.ip.
    """
    network = runtime.stub.PodSandboxStatus(
        cri.PodSandboxStatusRequest(pod_sandbox_id=own_sandbox.id)
    ).status.network

    assert is_address(network.ip), f"{network.ip!r} is not an IP address"


@requirement("SBA-10")
@requires(Capability.DUAL_STACK)
def test_additional_ips_of_a_sandbox_are_of_the_other_family(runtime: Runtime, own_sandbox: Sandbox) -> None:
    """additional_ips MUST be addresses of the other family and MUST NOT repeat the first address.

    Source: PodSandboxNetworkStatus.additional_ips.
    """
    network = runtime.stub.PodSandboxStatus(
        cri.PodSandboxStatusRequest(pod_sandbox_id=own_sandbox.id)
    ).status.network

    addresses = [network.ip, *(more.ip for more in network.additional_ips)]
    assert [text for text in addresses if not is_address(text)] == []
    first, *further = [ipaddress.ip_address(text) for text in addresses]
    assert first not in further
    assert {address.version for address in further} == {4, 6} - {first.version}


@requirement("SBA-11")
@requires(Capability.POD_NETWORK)
def test_address_of_a_stopped_sandbox_is_unchanged_or_empty(runtime: Runtime, own_sandbox: Sandbox) -> None:
    """PodSandboxStatus of a stopped sandbox SHOULD return its former IP address or none.

    Source: PodSandboxNetworkStatus.ip.
    """
    before = own_sandbox.status().network.ip
    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    after = runtime.stub.PodSandboxStatus(
        cri.PodSandboxStatusRequest(pod_sandbox_id=own_sandbox.id)
    ).status.network.ip

    assert after in {before, ""}


@requirement("SBA-12")
def test_plain_status_of_a_sandbox_has_no_info(runtime: Runtime, sandbox: Sandbox) -> None:
    """PodSandboxStatus SHOULD return an empty info map without verbose.

    Source: PodSandboxStatusRequest.verbose.
    """
    response = runtime.stub.PodSandboxStatus(
        cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox.id, verbose=False)
    )

    assert dict(response.info) == {}


@requirement("SBA-12")
def test_verbose_status_of_a_sandbox_is_json(runtime: Runtime, sandbox: Sandbox) -> None:
    """PodSandboxStatus with verbose SHOULD return an info map whose values are all JSON.

    Source: PodSandboxStatusResponse.info.
    """
    response = runtime.stub.PodSandboxStatus(
        cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox.id, verbose=True)
    )

    assert response.info
    for key, text in response.info.items():
        assert is_json(text), f"{key} is not JSON: {text[:200]}"


@requirement("SBA-13")
def test_status_of_a_sandbox_has_all_its_container_statuses(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """PodSandboxStatus MAY report container statuses: with a timestamp, those of all the pod's containers.

    Source: PodSandboxStatusResponse.containers_statuses, timestamp.
    """
    both = [containers.created(in_sandbox=own_sandbox), containers.exited(in_sandbox=own_sandbox)]

    response = runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=own_sandbox.id))

    if response.timestamp <= 0:
        unsupported("statuses in PodSandboxStatus: the timestamp is 0")
    assert {status.id for status in response.containers_statuses} == {container.id for container in both}


@requirement("SBA-13")
def test_timestamp_of_container_statuses_is_in_nanoseconds(runtime: Runtime, own_sandbox: Sandbox) -> None:
    """PodSandboxStatus MAY have a timestamp, which is then the time of its response in nanoseconds.

    Source: PodSandboxStatusResponse.timestamp.
    """
    response = runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=own_sandbox.id))

    if response.timestamp <= 0:
        unsupported("statuses in PodSandboxStatus: the timestamp is 0")
    # not before the sandbox was created; 60 s in the future allow for a clock that was set back
    assert own_sandbox.status().created_at <= response.timestamp <= time.time_ns() + 60 * 10**9


@requirement("SBA-14")
def test_container_statuses_of_a_sandbox_equal_container_status(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """PodSandboxStatus MAY report container statuses, which then equal those of ContainerStatus.

    Source: PodSandboxStatusResponse.containers_statuses.
    """
    alone = containers.exited(script="exit 4", in_sandbox=own_sandbox).status()

    response = runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=own_sandbox.id))

    if response.timestamp <= 0:
        unsupported("statuses in PodSandboxStatus: the timestamp is 0")
    assert [status.id for status in response.containers_statuses] == [alone.id]
    inside = response.containers_statuses[0]
    assert (inside.id, inside.metadata, inside.state) == (alone.id, alone.metadata, alone.state)
    assert (inside.created_at, inside.finished_at, inside.exit_code) == (
        alone.created_at,
        alone.finished_at,
        alone.exit_code,
    )


@requirement("SBA-23")
@pytest.mark.parametrize("state", [cri.SANDBOX_READY, cri.SANDBOX_NOTREADY], ids=["ready", "not ready"])
def test_list_and_status_of_a_sandbox_agree(
    runtime: Runtime, sandboxes: Sandboxes, listed: Listed, state: "cri.PodSandboxState"
) -> None:
    """ListPodSandbox MUST return the same as PodSandboxStatus in every field that both have.

    Source: PodSandbox, PodSandboxStatus.
    """
    sandbox = sandboxes.in_state(
        state,
        attempt=1,
        labels={"critests.example/role": "front"},
        annotations={"critests.example/note": "reported twice"},
    )

    status = runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox.id)).status

    entry = listed(sandbox)
    for field in ("id", "metadata", "state", "created_at", "labels", "annotations", "runtime_handler"):
        assert getattr(entry, field) == getattr(status, field), f"list and status differ in {field}"


def is_address(text: str) -> bool:
    """Return whether a text is an IP address that a pod can have."""
    try:
        return not ipaddress.ip_address(text).is_unspecified
    except ValueError:
        return False
