"""What a plugin hears of a pod and of a container in it, from their beginnings to their ends."""

from collections.abc import Collection
from dataclasses import dataclass

from critests.api import api_pb2 as cri
from critests.fixtures.nri import Plugins
from critests.node.nri.plugin import Heard
from critests.run.outcomes import setting_up

OF_PODS = ("RunPodSandbox", "StopPodSandbox", "RemovePodSandbox")
OF_CONTAINERS = ("CreateContainer", "StartContainer", "StopContainer", "RemoveContainer")
"""Moments that a plugin may count on; those after the fact may come too."""


@dataclass(frozen=True)
class Life:
    """A pod and its container, which are gone, and what was heard of them.

    Attributes:
        pod_names: name, namespace and uid, as they were asked for.
        container_name: as it was asked for.
        heard: every moment of either, in the order in which they came.
    """

    pod_id: str
    pod_names: tuple[str, str, str]
    container_id: str
    container_name: str
    heard: list[Heard]

    def moments(self, object_id: str, wanted: Collection[str]) -> list[str]:
        """Return which moments of some there are have come of one of the two, each once: a container that has
        ended may be told twice.
        """
        names = [each.moment for each in self.heard if object_id == (each.container.id or each.pod.id)]
        return [name for name in dict.fromkeys(names) if name in wanted]


def lived(plugins: Plugins) -> Life:
    """Let a pod and a container go through their whole lives while a plugin listens."""
    plugin, runtime = plugins.connect(), plugins.runtime
    with setting_up():
        pod = runtime.sandbox()
        container = runtime.container(pod)
        runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=10))
        runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))
        runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))
        runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id))
    metadata = pod.config.metadata
    heard = [
        each for each in list(plugin.heard) if pod.id == each.pod.id or each.container.id == container.id
    ]
    return Life(
        pod_id=pod.id,
        pod_names=(metadata.name, metadata.namespace, metadata.uid),
        container_id=container.id,
        container_name=container.config.metadata.name,
        heard=heard,
    )
