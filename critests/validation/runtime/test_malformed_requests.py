"""GEN-06: requests without required fields: the daemon rejects them and keeps running.

Each case has a runtime of its own, as some daemons do not survive it.
"""

from collections.abc import Mapping
from types import MappingProxyType

import grpc
import pytest
from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.testing import OwnRuntime, disruptive, malformed, may_be_refused, refused_with, requirement

pytestmark = [malformed, disruptive]

WITHOUT_METADATA = cri.PodSandboxConfig(hostname="nobody", linux=cri.LinuxPodSandboxConfig())
WITHOUT_OBJECT: Mapping[str, tuple[str, Message]] = MappingProxyType(
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
"""Requests that do not name their object, with their RPCs; they must be rejected."""
MAY_SUCCEED: Mapping[str, tuple[str, Message]] = MappingProxyType(
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
"""More requests that do not name their object; this requirement lets them succeed, too."""
ALL_CASES: Mapping[str, tuple[str, Message]] = MappingProxyType({**WITHOUT_OBJECT, **MAY_SUCCEED})

REMOVED_FIELDS = [
    "config",
    "config.image",
    "config.linux",
    "config and sandbox_config",
    "sandbox_config",
    "sandbox_config.metadata",
]
"""Fields that are removed from a CreateContainerRequest."""


def code_of(runtime: OwnRuntime, rpc: str, message: Message) -> str:
    """Return the name of the code with which a call ends: `OK` if it succeeds, `UNAVAILABLE` if the daemon
    exits.
    """
    method = getattr(runtime.stub, rpc, None) or getattr(runtime.images, rpc)
    try:
        method(message)
    except grpc.RpcError as error:
        return refused_with(error, grpc.StatusCode.UNAVAILABLE).name
    return "OK"


@requirement("GEN-06/no-crash")
@pytest.mark.parametrize("case", ALL_CASES)
def test_daemon_survives_a_malformed_request(own_runtime: OwnRuntime, case: str) -> None:
    """The daemon MUST NOT exit on a request that does not name its object, whatever it returns.

    Source: gRPC, where every call ends with a message or a status, and the message of each RPC. A daemon that
    any client can crash is unusable.
    """
    rpc, message = ALL_CASES[case]

    code_of(own_runtime, rpc, message)

    assert not own_runtime.damage()


@requirement("GEN-06/no-crash")
@pytest.mark.parametrize("lacking", REMOVED_FIELDS)
def test_daemon_survives_an_incomplete_container(own_runtime: OwnRuntime, lacking: str) -> None:
    """The daemon MUST NOT exit on a CreateContainer in an existing sandbox, whatever field the request lacks.

    Source: gRPC, where every call ends with a message or a status, and CreateContainerRequest. A daemon that
    any client can crash is unusable.
    """
    pod = own_runtime.sandbox()
    config = own_runtime.requests.container(own_runtime.pulled())
    request = own_runtime.containers.creation(config, pod)
    # `config.image` is a field of the request's `config`; without a dot it is one of the request itself
    for part in lacking.split(" and "):
        holder, _, name = part.rpartition(".")
        getattr(request, holder, request).ClearField(name)

    code_of(own_runtime, "CreateContainer", request)

    assert not own_runtime.damage()


@requirement("GEN-06/error")
@pytest.mark.parametrize("case", WITHOUT_OBJECT)
def test_malformed_request_is_refused(own_runtime: OwnRuntime, case: str) -> None:
    """A request that does not name its object MUST be rejected.

    Source: the message of each RPC. Not stated by the CRI; there is nothing that the call could do.
    """
    rpc, message = WITHOUT_OBJECT[case]

    code = code_of(own_runtime, rpc, message)

    assert code not in {"OK", "UNAVAILABLE"}, f"{rpc} returned {code}"


@requirement("SBX-03")
def test_sandbox_without_metadata_is_refused(own_runtime: OwnRuntime) -> None:
    """RunPodSandbox without metadata MUST fail, create nothing, and leave the daemon running.

    Source: PodSandboxConfig.metadata.
    """
    config = own_runtime.requests.sandbox()
    # a sandbox without metadata could be found by this label only
    config.labels["critests.made-from"] = config.metadata.uid
    config.ClearField("metadata")

    code = code_of(
        own_runtime,
        "RunPodSandbox",
        own_runtime.sandboxes.creation(config),
    )

    assert code != "OK"
    assert not own_runtime.damage()
    labelled = cri.PodSandboxFilter(label_selector=config.labels)
    assert not own_runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest(filter=labelled)).items


@requirement("SBX-04")
@pytest.mark.parametrize("field", ["name", "namespace", "uid"])
def test_sandbox_with_incomplete_metadata_is_refused_or_created_as_requested(
    own_runtime: OwnRuntime, field: str
) -> None:
    """RunPodSandbox without a name, namespace or uid SHOULD fail each time, or create the requested sandbox.

    Source: PodSandboxMetadata.
    """
    config = own_runtime.requests.sandbox()
    config.metadata.ClearField(field)
    request = own_runtime.sandboxes.creation(config)

    results: list[object] = []
    for _ in range(2):
        try:
            pod = own_runtime.sandboxes.adopt(own_runtime.stub.RunPodSandbox(request).pod_sandbox_id, config)
        except grpc.RpcError as error:
            results.append(refused_with(error, grpc.StatusCode.UNAVAILABLE).name)
        else:
            results.append(pod.status().metadata)
            pod.discard()

    assert results[0] == results[1], "the same request had two different results"
    assert not own_runtime.damage()
    assert isinstance(results[0], str) or results[0] == config.metadata, (
        "the sandbox does not have the requested metadata"
    )


@requirement("CTR-03")
def test_container_without_metadata_is_refused(own_runtime: OwnRuntime) -> None:
    """CreateContainer without metadata MUST fail, create nothing, and leave the daemon running.

    Source: ContainerConfig.metadata.
    """
    pod = own_runtime.sandbox()
    config = own_runtime.requests.container(own_runtime.pulled())
    config.ClearField("metadata")

    request = own_runtime.containers.creation(config, pod)
    code = code_of(own_runtime, "CreateContainer", request)

    assert code != "OK"
    assert not own_runtime.damage()
    inside = cri.ContainerFilter(pod_sandbox_id=pod.id)
    assert not own_runtime.stub.ListContainers(cri.ListContainersRequest(filter=inside)).containers


@requirement("CTR-39")
def test_container_without_sandbox_config_is_refused_or_uses_the_sandboxs(own_runtime: OwnRuntime) -> None:
    """CreateContainer without sandbox_config SHOULD fail, or use the configuration with which the sandbox was
    created.

    Source: CreateContainerRequest.sandbox_config.
    """
    pod = own_runtime.sandbox()
    config = own_runtime.requests.container(own_runtime.pulled())

    container_id = ""
    with may_be_refused(grpc.StatusCode.UNAVAILABLE):
        container_id = own_runtime.stub.CreateContainer(
            cri.CreateContainerRequest(pod_sandbox_id=pod.id, config=config)
        ).container_id

    assert not own_runtime.damage()
    if container_id:
        container = own_runtime.containers.adopt(container_id, config, pod)
        assert container.status().log_path == str(container.log_path), (
            "the log directory of the sandbox's configuration was not used"
        )


@requirement("IMS-17")
@pytest.mark.parametrize("spec", [None, cri.ImageSpec()], ids=["no image", "an image without a name"])
def test_removal_of_an_image_without_a_name_is_refused(
    own_runtime: OwnRuntime, spec: cri.ImageSpec | None
) -> None:
    """RemoveImage without an image name SHOULD fail, and remove no image.

    Source: RemoveImageRequest.image.
    """
    only_image = own_runtime.pulled()

    code = code_of(own_runtime, "RemoveImage", cri.RemoveImageRequest(image=spec))

    assert not own_runtime.damage()
    status = own_runtime.images.ImageStatus(cri.ImageStatusRequest(image=only_image.spec()))
    assert status.HasField("image"), f"the only image is gone; RemoveImage returned {code}"
    assert code not in {"OK", "UNAVAILABLE"}, f"RemoveImage returned {code}"
