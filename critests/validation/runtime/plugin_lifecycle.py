"""The NRI events of a pod and of a container in it, from creation to removal."""

from collections.abc import Collection
from dataclasses import dataclass

from critests.api import api_pb2 as cri
from critests.testing import PluginEvent, PluginFactory, setting_up

OF_PODS = ("RunPodSandbox", "StopPodSandbox", "RemovePodSandbox")
OF_CONTAINERS = ("CreateContainer", "StartContainer", "StopContainer", "RemoveContainer")
"""Events that a plugin can rely on; the `Post…` events may come too."""


@dataclass(frozen=True)
class Lifecycle:
    """A removed pod and its container, and the NRI events about them.

    Attributes:
        pod_names: name, namespace and uid, as requested.
        container_name: as requested.
        events: every event of either, in the order of their arrival.
    """

    pod_id: str
    pod_names: tuple[str, str, str]
    container_id: str
    container_name: str
    events: list[PluginEvent]

    def names(self, object_id: str, among: Collection[str]) -> list[str]:
        """Return the names of the events of the pod or the container that are in a given set, each once: an
        event of an exited container may come twice.
        """
        names = [event.name for event in self.events if object_id == (event.container.id or event.pod.id)]
        return [name for name in dict.fromkeys(names) if name in among]


def lifecycle_of_a_pod(plugins: PluginFactory) -> Lifecycle:
    """Create and remove a pod and a container while a plugin is connected."""
    plugin, runtime = plugins.connect(), plugins.runtime
    with setting_up():
        pod = runtime.sandbox()
        container = runtime.container(pod)
        runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=10))
        runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))
        runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))
        runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id))
    metadata = pod.config.metadata
    # of a copy, as the plugin's thread may append to the list
    events = [
        each for each in list(plugin.received) if pod.id == each.pod.id or each.container.id == container.id
    ]
    return Lifecycle(
        pod_id=pod.id,
        pod_names=(metadata.name, metadata.namespace, metadata.uid),
        container_id=container.id,
        container_name=container.config.metadata.name,
        events=events,
    )
