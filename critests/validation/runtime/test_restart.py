"""What must be the same after the daemon was restarted."""

import signal

import pytest

from critests.api import api_pb2 as cri
from critests.fixtures.own_runtime import OwnRuntime
from critests.lifecycle.containers import Container
from critests.run.marks import disruptive, requirement

ENDS = [signal.SIGTERM, signal.SIGKILL]
ends_of_the_daemon = pytest.mark.parametrize("end", ENDS, ids=["in order", "killed"])


@pytest.fixture(autouse=True)
def _restartable(own_runtime: OwnRuntime) -> None:
    """End a test before its set-up where the daemon cannot be restarted."""
    assert own_runtime.daemon


def birth(container: Container) -> str:
    """Return when the first process of a container began, in clock ticks since the machine started: field 22
    of proc(5)'s stat.
    """
    return container.output("cat", "/proc/1/stat").rpartition(")")[2].split()[19]


@requirement("RST-01")
@disruptive
@ends_of_the_daemon
def test_running_container_survives_a_restart(own_runtime: OwnRuntime, end: signal.Signals) -> None:
    """A running container MUST keep running over a restart of the daemon, as the same process.

    Source: ContainerStatus. Not stated by the CRI; the kubelet relies on it whenever a runtime is upgraded.
    """
    container = own_runtime.container()
    status, born = container.status(), birth(container)

    own_runtime.restart(end)

    answer = own_runtime.stub.ContainerStatus(cri.ContainerStatusRequest(container_id=container.id)).status
    assert cri.ContainerState.Name(answer.state) == "CONTAINER_RUNNING"
    assert answer.started_at == status.started_at
    assert birth(container) == born, "the container's first process is another one after the restart"


@requirement("RST-02")
@disruptive
@ends_of_the_daemon
def test_ready_sandbox_survives_a_restart(own_runtime: OwnRuntime, end: signal.Signals) -> None:
    """A READY sandbox MUST stay READY over a restart of the daemon, and all that is reported of it the same.

    Source: PodSandboxStatus, ListPodSandbox. Not stated by the CRI; the kubelet makes a new pod where it
    finds another.
    """
    pod = own_runtime.sandbox(labels={"app": "survivor"}, annotations={"note": "kept"})
    before = pod.status()

    own_runtime.restart(end)

    answer = own_runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=pod.id)).status
    listed = own_runtime.stub.ListPodSandbox(
        cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(id=pod.id))
    ).items
    assert cri.PodSandboxState.Name(answer.state) == "SANDBOX_READY"
    assert answer == before
    assert [(item.id, item.metadata, item.state, item.created_at) for item in listed] == [
        (pod.id, before.metadata, before.state, before.created_at)
    ]


@requirement("RST-03")
@disruptive
def test_stopped_sandbox_survives_a_restart(own_runtime: OwnRuntime) -> None:
    """A stopped sandbox MUST be NOTREADY after a restart of the daemon too, and be removable.

    Source: PodSandboxState, RemovePodSandbox. Not stated by the CRI; the kubelet removes old pods at its
    leisure.
    """
    pod = own_runtime.sandbox()
    pod.stop()

    own_runtime.restart()

    before = own_runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
    own_runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id))
    after = own_runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
    assert {item.id: item.state for item in before}.get(pod.id) == cri.SANDBOX_NOTREADY
    assert pod.id not in {item.id for item in after}


@requirement("RST-05")
@disruptive
def test_end_of_a_container_is_remembered_over_a_restart(own_runtime: OwnRuntime) -> None:
    """A container that has ended MUST keep its exit code, its reason and the time of its end over a restart
    of the daemon.

    Source: ContainerStatus. Not stated by the CRI; the kubelet decides by them whether to start it again.
    """
    container = own_runtime.container(script="exit 7")
    before = container.exited()

    own_runtime.restart()

    answer = own_runtime.stub.ContainerStatus(cri.ContainerStatusRequest(container_id=container.id)).status
    assert cri.ContainerState.Name(answer.state) == "CONTAINER_EXITED"
    assert (answer.exit_code, answer.reason, answer.finished_at) == (7, before.reason, before.finished_at)


@requirement("RST-09")
@disruptive
def test_images_survive_a_restart(own_runtime: OwnRuntime) -> None:
    """Images MUST be there after a restart of the daemon, with the same tags and digests.

    Source: ListImages. Not stated by the CRI; the kubelet does not pull again what a node holds.
    """
    pulled = own_runtime.pulled()

    def names() -> dict[str, tuple[list[str], list[str]]]:
        images = own_runtime.images.ListImages(cri.ListImagesRequest()).images
        return {image.id: (sorted(image.repo_tags), sorted(image.repo_digests)) for image in images}

    before = names()
    assert any(pulled.written in tags for tags, _ in before.values())

    own_runtime.restart()

    assert names() == before


@requirement("RT-21/restart")
@disruptive
def test_features_are_the_same_after_a_restart(own_runtime: OwnRuntime) -> None:
    """Status SHOULD name the same features and handlers after a restart of the daemon without a change of its
    configuration.

    Source: StatusResponse.features, StatusResponse.runtime_handlers.
    """

    def features() -> tuple[str, list[tuple[str, str]]]:
        answer = own_runtime.stub.Status(cri.StatusRequest())
        return str(answer.features), sorted(
            (handler.name, str(handler.features)) for handler in answer.runtime_handlers
        )

    before = features()

    own_runtime.restart()

    assert features() == before
