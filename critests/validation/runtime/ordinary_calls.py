"""The calls of a pod's lifecycle that do not wait, in an order in which they can be made."""

from collections.abc import Callable, Iterator
from typing import Any

from critests.api import api_pb2 as cri
from critests.testing import Capability, Container, MintedImage, Runtime, pulling
from critests.validation.runtime.concurrent_calls import reads_about

Call = tuple[Callable[..., Any], Any]
"""A method of a stub, and a request."""


def without_a_pod_cidr() -> cri.UpdateRuntimeConfigRequest:
    """Build the UpdateRuntimeConfigRequest of a kubelet that has no pod CIDR."""
    return cri.UpdateRuntimeConfigRequest(
        runtime_config=cri.RuntimeConfig(network_config=cri.NetworkConfig())
    )


def calls_after_start(runtime: Runtime, container: Container, minted: MintedImage) -> Iterator[Call]:
    """Yield calls about a running container, then those that stop and remove it and its pod. Each may be
    repeated.

    Args:
        runtime: that has it.
        container: the only one in its sandbox.
        minted: an image of the test's own, not pulled yet.
    """
    stub, images, this, pod = runtime.stub, runtime.images, container.id, container.sandbox.id
    yield stub.Version, cri.VersionRequest()
    yield stub.Status, cri.StatusRequest()
    if runtime.has(Capability.RUNTIME_CONFIG):
        yield stub.RuntimeConfig, cri.RuntimeConfigRequest()
    yield stub.UpdateRuntimeConfig, without_a_pod_cidr()
    for _, method, request in reads_about(runtime, container):
        yield method, request
    if runtime.has(Capability.POD_STATS):
        pods = cri.PodSandboxStatsFilter(id=pod)
        yield stub.ListPodSandboxStats, cri.ListPodSandboxStatsRequest(filter=pods)
    smaller = cri.LinuxContainerResources(cpu_shares=512)
    yield stub.UpdateContainerResources, cri.UpdateContainerResourcesRequest(container_id=this, linux=smaller)
    yield stub.ReopenContainerLog, cri.ReopenContainerLogRequest(container_id=this)
    yield stub.ExecSync, container.exec_request("true")
    yield stub.Exec, cri.ExecRequest(container_id=this, cmd=["true"], stdout=True)
    yield stub.Attach, cri.AttachRequest(container_id=this, stdout=True)
    yield stub.PortForward, cri.PortForwardRequest(pod_sandbox_id=pod, port=[80])
    image = cri.ImageSpec(image=minted.reference)
    yield images.PullImage, pulling(minted.reference)
    yield images.ImageStatus, cri.ImageStatusRequest(image=image)
    yield images.ListImages, cri.ListImagesRequest()
    yield images.ImageFsInfo, cri.ImageFsInfoRequest()
    yield images.RemoveImage, cri.RemoveImageRequest(image=image)
    yield stub.StopContainer, cri.StopContainerRequest(container_id=this, timeout=30)
    yield stub.RemoveContainer, cri.RemoveContainerRequest(container_id=this)
    yield stub.StopPodSandbox, cri.StopPodSandboxRequest(pod_sandbox_id=pod)
    yield stub.RemovePodSandbox, cri.RemovePodSandboxRequest(pod_sandbox_id=pod)
