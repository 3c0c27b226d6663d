"""CKP: RestorePod, which creates a pod from a checkpoint of CheckpointPod."""

from collections.abc import Callable
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.fixtures.sandbox_fixtures import CREATED_FROM
from critests.testing import (
    Capability,
    Container,
    Containers,
    Images,
    Runtime,
    Sandboxes,
    free_port,
    requirement,
    requires,
    setting_up,
    single,
)
from critests.validation.containers.counting import numbers, wait_for_progress
from critests.validation.containers.pod_checkpoints import (
    DISTANCE,
    SavedPod,
    checkpoint_and_remove,
    checkpoint_request,
    digests_below,
)

pytestmark = requires(
    Capability.POD_CHECKPOINT, Capability.POD_RESTORE, Capability.SAME_HOST, Capability.CRIU
)


@pytest.fixture
def folder(host_folder: Path) -> Path:
    """An empty directory for the checkpoint."""
    path = host_folder / "checkpoint"
    path.mkdir()
    return path


@pytest.fixture
def saved_pod(runtime: Runtime, sandboxes: Sandboxes, containers: Containers, folder: Path) -> SavedPod:
    """The checkpoint of a pod with two containers that count; the pod has been removed."""
    return checkpoint_and_remove(runtime, sandboxes, containers, folder, ["one", "two"])


def start_all(runtime: Runtime, containers: list[Container]) -> list[Container]:
    """Call StartContainer for each container, and return them."""
    for container in containers:
        runtime.stub.StartContainer(cri.StartContainerRequest(container_id=container.id))
    return containers


def container_named(name: str, containers: list[Container]) -> Container:
    """Return the container with this name."""
    return single(f"container {name}", (each for each in containers if each.config.metadata.name == name))


@requirement("CKP-16")
def test_a_restored_pod_has_a_container_for_each_configuration(saved_pod: SavedPod) -> None:
    """RestorePod MUST return a sandbox and exactly one container for each configuration, with its name and a
    unique id, and the lists MUST return them.

    Source: RestorePodResponse, RestoredContainer.
    """
    request = saved_pod.request()

    response = saved_pod.runtime.stub.RestorePod(request)

    sandbox = saved_pod.sandboxes.adopt(response.pod_sandbox_id, request.config)
    assert sandbox.id != ""
    assert [entry.state for entry in sandbox.entries()] == [cri.SANDBOX_READY]
    assert sorted(each.name for each in response.restored_containers) == ["one", "two"]
    ids = {each.container_id for each in response.restored_containers}
    assert len(ids) == 2
    listed = saved_pod.runtime.stub.ListContainers(cri.ListContainersRequest()).containers
    assert {each.id for each in listed if each.pod_sandbox_id == sandbox.id} == ids


@requirement("CKP-17")
def test_restored_containers_wait_for_their_start(runtime: Runtime, saved_pod: SavedPod) -> None:
    """RestorePod MUST return containers in state CREATED, which run only after StartContainer.

    Source: RestorePodResponse.
    """
    _, restored = saved_pod.restore(saved_pod.request())

    assert {container.state() for container in restored} == {cri.CONTAINER_CREATED}
    # a process that runs would print a number every 20 ms
    assert [container.log_lines() for container in restored] == [[], []]
    wait_for_progress(runtime, *start_all(runtime, restored))


WRONG_CONFIGS: dict[str, Callable[[SavedPod], list[cri.ContainerConfig]]] = {
    "none": lambda _: [],
    "one missing": lambda saved: list(saved.configs[:1]),
    "one twice": lambda saved: [*saved.configs, saved.configs[0]],
    "no name": lambda saved: [saved.configs[0], _renamed(saved.configs[1], "")],
    "another name": lambda saved: [saved.configs[0], _renamed(saved.configs[1], "other")],
}


def _renamed(config: cri.ContainerConfig, name: str) -> cri.ContainerConfig:
    renamed = cri.ContainerConfig()
    renamed.CopyFrom(config)
    renamed.metadata.name = name
    return renamed


@requirement("CKP-18")
@pytest.mark.parametrize("case", WRONG_CONFIGS)
def test_a_restore_needs_the_containers_of_the_checkpoint(
    runtime: Runtime, saved_pod: SavedPod, case: str
) -> None:
    """RestorePod MUST fail unless `container_configs` names exactly the containers of the checkpoint.

    Source: RestorePodRequest.container_configs.
    """
    runtime.refusal(saved_pod.restore, saved_pod.request(configs=WRONG_CONFIGS[case](saved_pod)))


def _with(change: cri.ContainerConfig) -> Callable[[cri.ContainerConfig], None]:
    return lambda config: config.MergeFrom(change)


# not root, as which the processes of the checkpoint run
USER = cri.LinuxContainerSecurityContext(run_as_user=cri.Int64Value(value=4242))
CHANGES: dict[str, Callable[[cri.ContainerConfig], None]] = {
    "command": _with(cri.ContainerConfig(command=["more"])),
    "args": _with(cri.ContainerConfig(args=["more"])),
    "working directory": _with(cri.ContainerConfig(working_dir="/bin")),
    "environment": _with(cri.ContainerConfig(envs=[cri.KeyValue(key="A", value=b"b")])),
    "user": _with(cri.ContainerConfig(linux=cri.LinuxContainerConfig(security_context=USER))),
}


@requirement("CKP-19/error")
@pytest.mark.parametrize("change", CHANGES)
def test_a_restore_with_another_process_is_refused(
    runtime: Runtime, saved_pod: SavedPod, change: str
) -> None:
    """RestorePod SHOULD fail for a configuration that changes command, arguments, working directory,
    environment or user.

    Source: RestorePodRequest.container_configs.
    """
    request = saved_pod.request()
    CHANGES[change](request.container_configs[0])

    runtime.refusal(saved_pod.restore, request)


@requirement("CKP-19/error")
def test_a_restore_with_another_image_is_refused(
    runtime: Runtime, saved_pod: SavedPod, images: Images
) -> None:
    """RestorePod SHOULD fail for a configuration with another image.

    Source: RestorePodRequest.container_configs, ContainerConfig.image.
    """
    request = saved_pod.request()
    request.container_configs[0].image.CopyFrom(images.pull("tools").spec())

    runtime.refusal(saved_pod.restore, request)


@requirement("CKP-19/process")
def test_a_restored_process_has_the_memory_of_the_checkpoint(runtime: Runtime, saved_pod: SavedPod) -> None:
    """RestorePod MUST restore the processes of the checkpoint with their memory.

    Source: RestorePodRequest.checkpoint_path.
    """
    _, restored = saved_pod.restore(saved_pod.request())

    wait_for_progress(runtime, *start_all(runtime, restored))
    for container in restored:
        before = saved_pod.last_numbers[container.status().metadata.name]
        # above: it continued after the checkpoint; below: it is not the process of another container
        assert before < numbers(container)[0] < before + DISTANCE


@requirement("CKP-20")
def test_a_restored_container_has_its_new_labels_and_annotations(saved_pod: SavedPod) -> None:
    """RestorePod MUST apply the labels and annotations of its request to the restored container.

    Source: ContainerConfig.labels and annotations.
    """
    request = saved_pod.request()
    request.container_configs[0].labels["restored"] = "yes"
    request.container_configs[0].annotations["critests.example/restored"] = "yes"

    _, restored = saved_pod.restore(request)

    changed = container_named("one", restored)
    # a runtime may have set only one of the two
    entry = changed.entry()
    status = changed.status()
    assert (entry.labels["restored"], status.labels["restored"]) == ("yes", "yes")
    assert status.annotations["critests.example/restored"] == "yes"


@requirement("CKP-20")
def test_a_restored_container_has_its_new_limits(saved_pod: SavedPod) -> None:
    """RestorePod MUST apply the resources of its request to the restored container.

    Source: LinuxContainerConfig.resources, ContainerStatus.resources.
    """
    request = saved_pod.request()
    request.container_configs[0].linux.resources.memory_limit_in_bytes = 96 << 20

    _, restored = saved_pod.restore(request)

    changed = container_named("one", restored)
    assert changed.status().resources.linux.memory_limit_in_bytes == 96 << 20


@requirement("CKP-20")
def test_a_restored_container_has_its_new_mounts(
    runtime: Runtime, saved_pod: SavedPod, host_folder: Path
) -> None:
    """RestorePod MUST apply the mounts of its request to the restored container.

    Source: ContainerConfig.mounts.
    """
    (host_folder / "file").write_text("mounted", encoding="utf-8")
    host_folder.chmod(0o755)
    request = saved_pod.request()
    mount = cri.Mount(container_path=str(host_folder), host_path=str(host_folder), readonly=True)
    request.container_configs[0].mounts.append(mount)

    _, restored = saved_pod.restore(request)
    start_all(runtime, restored)

    changed = container_named("one", restored)
    assert [each.container_path for each in changed.status().mounts] == [str(host_folder)]
    assert changed.exec("cat", str(host_folder / "file")).stdout == b"mounted"


@requirement("CKP-21")
def test_a_restore_does_not_change_the_checkpoint(runtime: Runtime, saved_pod: SavedPod) -> None:
    """RestorePod MUST NOT change the checkpoint, from which further pods may be restored.

    Source: RestorePodRequest.checkpoint_path.
    """
    before = digests_below(saved_pod.folder)

    _, restored = saved_pod.restore(saved_pod.request())
    for container in start_all(runtime, restored):
        assert container.exec("true").exit_code == 0

    assert digests_below(saved_pod.folder) == before


@requirement("CKP-22")
@pytest.mark.parametrize("wrong", ["handler", "option"])
def test_unknown_settings_of_a_restore_are_refused(runtime: Runtime, saved_pod: SavedPod, wrong: str) -> None:
    """RestorePod MUST fail for an unknown runtime handler and for an unknown option.

    Source: RestorePodRequest.runtime_handler and options.
    """
    request = (
        saved_pod.request(handler="nobody-has-this-handler")
        if wrong == "handler"
        else saved_pod.request(options={"critests.example/nobody-knows-this": "true"})
    )

    runtime.refusal(saved_pod.restore, request)


@requirement("CKP-23")
def test_a_failed_restore_leaves_nothing(runtime: Runtime, sandboxes: Sandboxes, saved_pod: SavedPod) -> None:
    """RestorePod MUST leave no sandbox and no container when it fails.

    Source: RestorePod.
    """
    config = sandboxes.marked_config()
    configs = [saved_pod.configs[0], _renamed(saved_pod.configs[1], "other")]
    for each in configs:
        each.labels[CREATED_FROM] = config.labels[CREATED_FROM]

    runtime.refusal(saved_pod.restore, saved_pod.request(config, configs))

    selector = cri.ContainerFilter(label_selector={CREATED_FROM: config.labels[CREATED_FROM]})
    assert sandboxes.created_from(config) == []
    assert list(runtime.stub.ListContainers(cri.ListContainersRequest(filter=selector)).containers) == []


@requirement("CKP-24")
def test_a_restored_pod_logs_to_its_new_directory(runtime: Runtime, saved_pod: SavedPod) -> None:
    """Restored containers SHOULD write their logs to the log directory of the new pod, without a gap in the
    output.

    Source: PodSandboxConfig.log_directory, ContainerConfig.log_path.
    """
    sandbox, restored = saved_pod.restore(saved_pod.request())

    wait_for_progress(runtime, *start_all(runtime, restored))
    for container in restored:
        assert container.status().log_path == str(sandbox.log_directory / container.config.log_path)
        printed = numbers(container)
        assert printed == list(range(printed[0], printed[0] + len(printed)))
        # the log of the removed pod has the numbers before
        assert printed[0] > saved_pod.last_numbers[container.config.metadata.name]


def responds(server: Container) -> bool:
    """Return whether the HTTP server responds at its port, the last argument of its command."""
    url = f"http://127.0.0.1:{server.config.command[-1]}/"
    # it has no files
    return b"404" in server.exec("wget", "-O", "-", url).stderr


@pytest.fixture
def saved_server(runtime: Runtime, sandboxes: Sandboxes, containers: Containers, folder: Path) -> SavedPod:
    """The checkpoint of a pod with a listening server; the pod has been removed."""
    sandbox = sandboxes.ready()
    command = ["httpd", "-f", "-p", str(free_port())]
    server = containers.running(name="server", command=command, in_sandbox=sandbox)
    with setting_up():
        runtime.eventually("the server to respond", lambda: responds(server))
        runtime.stub.CheckpointPod(checkpoint_request(sandbox, folder, server))
        sandbox.discard()
    return SavedPod(runtime, sandboxes, containers, folder, [server.config], {})


@requirement("CKP-24")
def test_a_restored_server_listens_again(runtime: Runtime, saved_server: SavedPod) -> None:
    """A server that listened at the time of the checkpoint SHOULD respond after its pod was restored.

    Source: RestorePod.
    """
    _, restored = saved_server.restore(saved_server.request())

    server = single("the server", start_all(runtime, restored))

    runtime.eventually("the restored server to respond", lambda: responds(server))
