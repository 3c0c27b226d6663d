"""What a daemon makes of requests that lack what they need: it refuses them and lives on.

Each case works on a runtime of its own, as some daemons do not survive it.
"""

from collections.abc import Mapping
from types import MappingProxyType

import grpc
import pytest
from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.fixtures.own_runtime import OwnRuntime
from critests.fixtures.runtime import may_be_refused, refused_with
from critests.run.marks import disruptive, malformed, requirement

pytestmark = [malformed, disruptive]

WITHOUT_METADATA = cri.PodSandboxConfig(hostname="nobody", linux=cri.LinuxPodSandboxConfig())
POINTLESS: Mapping[str, tuple[str, Message]] = MappingProxyType(
    {
        "sandbox without a configuration": ("RunPodSandbox", cri.RunPodSandboxRequest()),
        "sandbox with an empty configuration": (
            "RunPodSandbox",
            cri.RunPodSandboxRequest(config=cri.PodSandboxConfig()),
        ),
        "sandbox without metadata": ("RunPodSandbox", cri.RunPodSandboxRequest(config=WITHOUT_METADATA)),
        "container without anything": ("CreateContainer", cri.CreateContainerRequest()),
        "container of no sandbox": (
            "CreateContainer",
            cri.CreateContainerRequest(config=cri.ContainerConfig()),
        ),
        "status of no sandbox": ("PodSandboxStatus", cri.PodSandboxStatusRequest()),
        "statistics of no sandbox": ("PodSandboxStats", cri.PodSandboxStatsRequest()),
        "ports of no sandbox": ("PortForward", cri.PortForwardRequest()),
        "start of no container": ("StartContainer", cri.StartContainerRequest()),
        "status of no container": ("ContainerStatus", cri.ContainerStatusRequest()),
        "statistics of no container": ("ContainerStats", cri.ContainerStatsRequest()),
        "update of no container": ("UpdateContainerResources", cri.UpdateContainerResourcesRequest()),
        "log of no container": ("ReopenContainerLog", cri.ReopenContainerLogRequest()),
        "command in no container": ("ExecSync", cri.ExecSyncRequest()),
        "session in no container": ("Exec", cri.ExecRequest()),
        "attaching to no container": ("Attach", cri.AttachRequest()),
    }
)
"""Requests without what they are about: which RPC, and its message. They must be refused."""
FORGIVABLE: Mapping[str, tuple[str, Message]] = MappingProxyType(
    {
        "stop of no sandbox": ("StopPodSandbox", cri.StopPodSandboxRequest()),
        "removal of no sandbox": ("RemovePodSandbox", cri.RemovePodSandboxRequest()),
        "stop of no container": ("StopContainer", cri.StopContainerRequest()),
        "removal of no container": ("RemoveContainer", cri.RemoveContainerRequest()),
        "pull of no image": ("PullImage", cri.PullImageRequest()),
        "status of no image": ("ImageStatus", cri.ImageStatusRequest()),
        "removal of no image": ("RemoveImage", cri.RemoveImageRequest()),
    }
)
"""Requests without what they are about, too; these may succeed as well, as far as this requirement goes."""
SURVIVABLE: Mapping[str, tuple[str, Message]] = MappingProxyType({**POINTLESS, **FORGIVABLE})

LACKING = [
    "config",
    "config.image",
    "config.linux",
    "config and sandbox_config",
    "sandbox_config",
    "sandbox_config.metadata",
]
"""Fields of CreateContainerRequest that are left out."""


def answer_to(runtime: OwnRuntime, rpc: str, message: Message) -> str:
    """Return the name of the code with which a call ends, `OK` where it succeeds, `UNAVAILABLE` where the
    daemon ends at it.
    """
    method = getattr(runtime.stub, rpc, None) or getattr(runtime.images, rpc)
    try:
        method(message)
    except grpc.RpcError as error:
        return refused_with(error, grpc.StatusCode.UNAVAILABLE).name
    return "OK"


@requirement("GEN-06/no-crash")
@pytest.mark.parametrize("case", SURVIVABLE)
def test_daemon_survives_a_malformed_request(own_runtime: OwnRuntime, case: str) -> None:
    """A request without what it is about MUST NOT end the daemon, whatever it is answered.

    Source: gRPC, where every call ends with a message or a status, and the message of each RPC. A daemon that
    any client can end is of no use.
    """
    rpc, message = SURVIVABLE[case]

    answer_to(own_runtime, rpc, message)

    assert not own_runtime.damage()


@requirement("GEN-06/no-crash")
@pytest.mark.parametrize("lacking", LACKING)
def test_daemon_survives_an_incomplete_container(own_runtime: OwnRuntime, lacking: str) -> None:
    """CreateContainer in a sandbox that exists MUST NOT end the daemon, whatever the request leaves out.

    Source: gRPC, where every call ends with a message or a status, and CreateContainerRequest. A daemon that
    any client can end is of no use.
    """
    pod = own_runtime.sandbox()
    config = own_runtime.requests.container(own_runtime.pulled())
    request = own_runtime.containers.creation(config, pod)
    # `config.image` is a field of the request's `config`; without a dot it is one of the request itself
    for part in lacking.split(" and "):
        holder, _, name = part.rpartition(".")
        getattr(request, holder, request).ClearField(name)

    answer_to(own_runtime, "CreateContainer", request)

    assert not own_runtime.damage()


@requirement("GEN-06/error")
@pytest.mark.parametrize("case", POINTLESS)
def test_malformed_request_is_refused(own_runtime: OwnRuntime, case: str) -> None:
    """A request without what it is about MUST be answered with an error.

    Source: the message of each RPC. Not stated by the CRI; there is nothing that the call could do.
    """
    rpc, message = POINTLESS[case]

    answer = answer_to(own_runtime, rpc, message)

    assert answer not in {"OK", "UNAVAILABLE"}, f"{rpc} was answered with {answer}"


@requirement("SBX-03")
def test_sandbox_without_metadata_is_refused(own_runtime: OwnRuntime) -> None:
    """RunPodSandbox without metadata MUST fail, make nothing, and leave the daemon alive.

    Source: PodSandboxConfig.metadata.
    """
    config = own_runtime.requests.sandbox()
    config.labels["critests.made-from"] = config.metadata.uid
    config.ClearField("metadata")

    answer = answer_to(
        own_runtime,
        "RunPodSandbox",
        own_runtime.sandboxes.creation(config),
    )

    assert answer != "OK"
    assert not own_runtime.damage()
    labelled = cri.PodSandboxFilter(label_selector=config.labels)
    assert not own_runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest(filter=labelled)).items


@requirement("SBX-04")
@pytest.mark.parametrize("field", ["name", "namespace", "uid"])
def test_sandbox_with_incomplete_metadata_is_refused_or_kept_as_it_is(
    own_runtime: OwnRuntime, field: str
) -> None:
    """RunPodSandbox without a name, a namespace or a uid SHOULD be refused each time, or give the sandbox
    that it was asked for.

    Source: PodSandboxMetadata.
    """
    config = own_runtime.requests.sandbox()
    config.metadata.ClearField(field)
    request = own_runtime.sandboxes.creation(config)

    seen: list[object] = []
    for _ in range(2):
        try:
            pod = own_runtime.sandboxes.adopt(own_runtime.stub.RunPodSandbox(request).pod_sandbox_id, config)
        except grpc.RpcError as error:
            seen.append(refused_with(error, grpc.StatusCode.UNAVAILABLE).name)
        else:
            seen.append(pod.status().metadata)
            pod.discard()

    assert seen[0] == seen[1], "the same request had two different ends"
    assert not own_runtime.damage()
    assert isinstance(seen[0], str) or seen[0] == config.metadata, (
        "the sandbox is not the one that was asked for"
    )


@requirement("CTR-03")
def test_container_without_metadata_is_refused(own_runtime: OwnRuntime) -> None:
    """CreateContainer without metadata MUST fail, make nothing, and leave the daemon alive.

    Source: ContainerConfig.metadata.
    """
    pod = own_runtime.sandbox()
    config = own_runtime.requests.container(own_runtime.pulled())
    config.ClearField("metadata")

    request = own_runtime.containers.creation(config, pod)
    answer = answer_to(own_runtime, "CreateContainer", request)

    assert answer != "OK"
    assert not own_runtime.damage()
    inside = cri.ContainerFilter(pod_sandbox_id=pod.id)
    assert not own_runtime.stub.ListContainers(cri.ListContainersRequest(filter=inside)).containers


@requirement("CTR-39")
def test_container_without_a_sandbox_configuration_is_refused_or_finds_it(own_runtime: OwnRuntime) -> None:
    """CreateContainer without the sandbox's configuration SHOULD fail, or go by the one that the sandbox was
    made with.

    Source: CreateContainerRequest.sandbox_config.
    """
    pod = own_runtime.sandbox()
    config = own_runtime.requests.container(own_runtime.pulled())

    made = ""
    with may_be_refused(grpc.StatusCode.UNAVAILABLE):
        made = own_runtime.stub.CreateContainer(
            cri.CreateContainerRequest(pod_sandbox_id=pod.id, config=config)
        ).container_id

    assert not own_runtime.damage()
    if made:
        container = own_runtime.containers.adopt(made, config, pod)
        assert container.status().log_path == str(container.log_path), (
            "the log directory of the sandbox's own configuration was not used"
        )


@requirement("IMS-17")
@pytest.mark.parametrize("spec", [None, cri.ImageSpec()], ids=["no image", "an image without a name"])
def test_removal_of_an_image_without_a_name_is_refused(
    own_runtime: OwnRuntime, spec: cri.ImageSpec | None
) -> None:
    """RemoveImage that names no image SHOULD fail, and remove none.

    Source: RemoveImageRequest.image.
    """
    held = own_runtime.pulled()

    answer = answer_to(own_runtime, "RemoveImage", cri.RemoveImageRequest(image=spec))

    assert not own_runtime.damage()
    kept = own_runtime.images.ImageStatus(cri.ImageStatusRequest(image=held.spec())).HasField("image")
    assert kept, f"the only image is gone; RemoveImage was answered with {answer}"
    assert answer not in {"OK", "UNAVAILABLE"}, f"RemoveImage was answered with {answer}"
