"""K8S: events and the kubelet's relist, which must agree about a pod."""

from critests.api import api_pb2 as cri
from critests.testing import DELETED, STARTED, STOPPED, Capability, Events, Runtime, requirement, requires
from critests.validation.kubelet.pods import KubeletPod, states_of


@requirement("K8S-02")
@requires(Capability.EVENTS)
def test_events_agree_with_a_relist(runtime: Runtime, pod: KubeletPod, events: Events) -> None:
    """ContainerEventResponse MUST have the statuses that a relist then finds, for the start and the stop of a
    container, and GetContainerEvents MUST send an event for its removal.

    Source: ContainerEventResponse.pod_sandbox_status and containers_statuses; the kubelet's evented PLEG,
    which relists rarely.
    """
    listener = events.listen()
    sandbox = pod.start()
    app = pod.run(sandbox, "app")

    def reported(kind: str) -> list[str]:
        event = listener.first(app.id, kind)
        return states_of([event.pod_sandbox_status], event.containers_statuses)

    assert reported(STARTED) == ["app/0 RUNNING", "sandbox/0 READY"]
    pod.await_states("app/0 RUNNING", "sandbox/0 READY")

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=app.id, timeout=0))
    assert reported(STOPPED) == ["app/0 EXITED", "sandbox/0 READY"]
    pod.await_states("app/0 EXITED", "sandbox/0 READY")

    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=app.id))
    listener.first(app.id, DELETED)
    pod.await_states("sandbox/0 READY")
