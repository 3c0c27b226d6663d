"""The condition `questions`: clients ask for lists, statuses, statistics and metrics of everything."""

from typing import Any, Final

from critests.api import api_pb2 as cri
from critests.conditions.background_client import BackgroundClient

LONGEST_PAUSE_SECONDS: Final = 0.05
SAMPLE: Final = 5
"""Objects of a list whose status and statistics a client asks for."""
OF_ALL: Final[dict[str, Any]] = {
    "Version": cri.VersionRequest(),
    "Status": cri.StatusRequest(verbose=True),
    "RuntimeConfig": cri.RuntimeConfigRequest(),
    "ListPodSandbox": cri.ListPodSandboxRequest(),
    "ListContainers": cri.ListContainersRequest(),
    "ListPodSandboxStats": cri.ListPodSandboxStatsRequest(),
    "ListContainerStats": cri.ListContainerStatsRequest(),
    "ListMetricDescriptors": cri.ListMetricDescriptorsRequest(),
    "ListPodSandboxMetrics": cri.ListPodSandboxMetricsRequest(),
    "ListImages": cri.ListImagesRequest(),
    "ImageFsInfo": cri.ImageFsInfoRequest(),
}


def questions(client: BackgroundClient) -> None:
    """Ask for everything in a drawn order, without filters, and then about some of the listed objects."""
    for rpc in client.random.sample(sorted(OF_ALL), len(OF_ALL)):
        if client.over.is_set() or client.lacks(rpc):
            continue
        response = client.call(rpc, OF_ALL[rpc])
        if response is not None and rpc in {"ListPodSandbox", "ListContainers"}:
            _about(
                client,
                rpc,
                [entry.id for entry in (response.items if rpc == "ListPodSandbox" else response.containers)],
            )
        client.pause(LONGEST_PAUSE_SECONDS)


def _about(client: BackgroundClient, listed_by: str, ids: list[str]) -> None:
    for identity in client.random.sample(ids, min(SAMPLE, len(ids))):
        verbose = client.random.random() < 0.5
        if listed_by == "ListPodSandbox":
            client.call(
                "PodSandboxStatus", cri.PodSandboxStatusRequest(pod_sandbox_id=identity, verbose=verbose)
            )
            if not client.lacks("PodSandboxStats"):
                client.call("PodSandboxStats", cri.PodSandboxStatsRequest(pod_sandbox_id=identity))
        else:
            client.call("ContainerStatus", cri.ContainerStatusRequest(container_id=identity, verbose=verbose))
            client.call("ContainerStats", cri.ContainerStatsRequest(container_id=identity))
