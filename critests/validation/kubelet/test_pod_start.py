"""K8S: the start of a pod: its sandbox, images, init containers, sidecars and containers."""

from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    ImageName,
    Images,
    Registry,
    Runtime,
    may_be_refused,
    requirement,
    requires,
    single,
)
from critests.validation.kubelet.pods import KubeletPod

VOLUME = "/volume"


@pytest.fixture
def volume(host_folder: Path) -> list[cri.Mount]:
    """The mounts by which all containers of a pod get the same empty directory at `VOLUME`."""
    return [cri.Mount(container_path=VOLUME, host_path=str(host_folder))]


@requirement("K8S-01")
def test_a_pod_starts_as_the_kubelet_starts_one(
    runtime: Runtime, registry: Registry, images: Images, pod: KubeletPod
) -> None:
    """The kubelet's calls to start a pod MUST succeed in its order, and leave the container running from the
    image that was pulled in between.

    Source: what the kubelet calls: Version, Status, RuntimeConfig; RunPodSandbox, PodSandboxStatus,
    ImageStatus, PullImage, CreateContainer, StartContainer.
    """
    minted = registry.mint(changes={"files": [{"path": "pulled-for-the-pod"}]})
    # the version that the kubelet sends
    runtime.stub.Version(cri.VersionRequest(version="0.1.0"))
    runtime.stub.Status(cri.StatusRequest())
    # older runtimes do not have this RPC
    with may_be_refused(grpc.StatusCode.UNIMPLEMENTED):
        runtime.stub.RuntimeConfig(cri.RuntimeConfigRequest())

    sandbox = pod.start()
    network = sandbox.status().network
    before = images.look_up(minted.reference)
    pulled = runtime.images.PullImage(
        cri.PullImageRequest(
            image=cri.ImageSpec(image=minted.reference, user_specified_image=minted.reference),
            sandbox_config=sandbox.config,
        )
    )
    image = ImageName(pulled.image_ref, minted.reference)
    app = pod.run(sandbox, "app", image=image, first="ls /")

    pod.await_states("app/0 RUNNING", "sandbox/0 READY")
    assert network.ip != ""
    assert before is None
    assert "pulled-for-the-pod" in app.wait_for_log("pulled-for-the-pod")


@requirement("K8S-01")
def test_the_lists_return_the_metadata_that_the_kubelet_set(runtime: Runtime, pod: KubeletPod) -> None:
    """ListPodSandbox and ListContainers MUST return names, attempts, labels and annotations as they were set:
    a restarted kubelet knows its pods only from them.

    Source: PodSandbox and Container; what the kubelet writes into labels and annotations.
    """
    sandbox = pod.start()
    app = pod.run(sandbox, "app", attempt=3)

    pods = runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
    containers = runtime.stub.ListContainers(cri.ListContainersRequest()).containers

    listed = single("the pod", (each for each in pods if each.id == sandbox.id))
    assert listed.metadata == sandbox.config.metadata
    assert listed.labels.items() >= sandbox.config.labels.items()
    assert listed.annotations.items() >= sandbox.config.annotations.items()
    entry = single("its container", (each for each in containers if each.id == app.id))
    assert (entry.metadata, entry.pod_sandbox_id) == (app.config.metadata, sandbox.id)
    assert entry.labels.items() >= app.config.labels.items()
    assert entry.annotations.items() >= app.config.annotations.items()


@requirement("K8S-15")
@requires(Capability.SAME_HOST)
def test_init_containers_run_one_after_the_other(pod: KubeletPod, volume: list[cri.Mount]) -> None:
    """Init containers MUST run one after the other until each exits, and the next one and the pod's container
    MUST see what they leave in a volume.

    Source: what the kubelet does for spec.initContainers.
    """
    sandbox = pod.start()

    for name, exited in (("first", []), ("second", ["first/0 EXITED"])):
        init = pod.run(sandbox, name, script=f"echo {name} >> {VOLUME}/order", mounts=volume)
        assert init.exited().exit_code == 0
        pod.await_states(f"{name}/0 EXITED", *exited, "sandbox/0 READY")
    app = pod.run(sandbox, "app", first=f"cat {VOLUME}/order", mounts=volume)

    pod.await_states("app/0 RUNNING", "first/0 EXITED", "sandbox/0 READY", "second/0 EXITED")
    assert app.wait_for_log("second") == ["first", "second"]


@requirement("K8S-15")
def test_a_failed_init_container_is_retried(pod: KubeletPod) -> None:
    """ContainerStatus MUST report the exit code of a failed init container, and its next attempt MUST run
    while the failed one still exists.

    Source: what the kubelet does for spec.initContainers.
    """
    sandbox = pod.start()

    first = pod.run(sandbox, "init", script="exit 3").exited()
    second = pod.run(sandbox, "init", attempt=1, script="exit 0").exited()
    pod.run(sandbox, "app")

    pod.await_states("app/0 RUNNING", "init/0 EXITED", "init/1 EXITED", "sandbox/0 READY")
    assert (first.exit_code, first.metadata.attempt) == (3, 0)
    assert (second.exit_code, second.metadata.attempt) == (0, 1)


@requirement("K8S-11")
def test_a_sidecar_runs_while_later_containers_start_and_exit(pod: KubeletPod) -> None:
    """A sidecar that is started first MUST continue to run while an init container runs and exits and the
    pod's container starts.

    Source: what the kubelet does for init containers with restartPolicy Always.
    """
    sandbox = pod.start()

    sidecar = pod.run(sandbox, "sidecar")
    before = sidecar.status()
    init = pod.run(sandbox, "init", script="exit 0")
    assert init.exited().exit_code == 0
    pod.run(sandbox, "app")

    pod.await_states("app/0 RUNNING", "init/0 EXITED", "sandbox/0 READY", "sidecar/0 RUNNING")
    assert sidecar.status().started_at == before.started_at
    assert sidecar.output("echo", "alive") == "alive"


@requirement("K8S-11")
def test_a_sidecar_that_exited_is_restarted_while_the_others_run(pod: KubeletPod) -> None:
    """The next attempt at an exited sidecar MUST start, while the pod's container continues to run.

    Source: what the kubelet does for init containers with restartPolicy Always.
    """
    sandbox = pod.start()
    sidecar = pod.run(sandbox, "sidecar", on_term="exit 4")
    sidecar.wait_for_log("ready")
    app = pod.run(sandbox, "app")
    before = app.status()

    sidecar.exec("/bin/sh", "-c", "kill -TERM 1")
    pod.await_states("app/0 RUNNING", "sandbox/0 READY", "sidecar/0 EXITED")
    pod.run(sandbox, "sidecar", attempt=1)

    pod.await_states("app/0 RUNNING", "sandbox/0 READY", "sidecar/0 EXITED", "sidecar/1 RUNNING")
    assert sidecar.status().exit_code == 4
    assert app.status().started_at == before.started_at
