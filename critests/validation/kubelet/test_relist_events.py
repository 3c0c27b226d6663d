"""K8S: events and the kubelet's relist, which must tell the same of a pod."""

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.events import DELETED, STARTED, STOPPED, Events
from critests.fixtures.runtime import Runtime
from critests.run.marks import requirement, requires
from critests.validation.kubelet.pods import Pod, seen


@requirement("K8S-02")
@requires(Capability.EVENTS)
def test_events_tell_what_a_relist_sees(runtime: Runtime, pod: Pod, events: Events) -> None:
    """The statuses that come with the event of a start or of an end MUST be what a relist then sees of the
    pod, and the event of a removal MUST come.

    Source: ContainerEventResponse.pod_sandbox_status and containers_statuses; the kubelet's evented PLEG,
    which relists only now and then.
    """
    listener = events.listen()
    sandbox = pod.start()
    app = pod.run(sandbox, "app")

    def told(kind: str) -> list[str]:
        event = listener.first(app.id, kind)
        return seen([event.pod_sandbox_status], event.containers_statuses)

    assert told(STARTED) == ["app/0 RUNNING", "sandbox/0 READY"]
    pod.shows("app/0 RUNNING", "sandbox/0 READY")

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=app.id, timeout=0))
    assert told(STOPPED) == ["app/0 EXITED", "sandbox/0 READY"]
    pod.shows("app/0 EXITED", "sandbox/0 READY")

    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=app.id))
    listener.first(app.id, DELETED)
    pod.shows("sandbox/0 READY")
