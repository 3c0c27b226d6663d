"""CTR: CreateContainer and StartContainer."""

from collections.abc import Callable

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    NO_SUCH_ID,
    Container,
    Containers,
    ImageName,
    Images,
    RecordVariant,
    Registry,
    Runtime,
    Sandbox,
    blocked,
    may_be_refused,
    not_under,
    refused_with,
    requirement,
)

REFERENCES: dict[str, Callable[[ImageName, cri.Image], str]] = {
    "reference that the pull returned": lambda name, _: name.reference,
    "id of the image": lambda _, image: image.id,
    "tag": lambda name, _: name.written,
    "repository digest": lambda _, image: next(iter(image.repo_digests), ""),
}


DEADLINES = [milliseconds / 1000 for milliseconds in range(1, 16)]
"""Deadlines of CreateContainer in seconds: from the lookup of the sandbox to the creation of the snapshot."""


def containers_named(runtime: Runtime, sandbox: Sandbox, name: str) -> list[cri.Container]:
    """Return the containers of a sandbox with a name, from ListContainers."""
    response = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(pod_sandbox_id=sandbox.id))
    )
    return [item for item in response.containers if item.metadata.name == name]


def create_with_deadline(
    runtime: Runtime, containers: Containers, config: cri.ContainerConfig, seconds: float
) -> None:
    """Call CreateContainer with a deadline, which may be exceeded."""
    with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
        response = runtime.stub.CreateContainer(containers.creation(config), timeout=seconds)
        containers.adopt(response.container_id, config)


def create_with_retries(
    runtime: Runtime, sandbox: Sandbox, containers: Containers, config: cri.ContainerConfig
) -> Container:
    """Call CreateContainer until it succeeds or the container exists, and return the container."""

    def attempt() -> str:
        try:
            return runtime.stub.CreateContainer(
                containers.creation(config), timeout=runtime.one_try
            ).container_id
        except grpc.RpcError as error:
            refused_with(error, grpc.StatusCode.DEADLINE_EXCEEDED)
        # a runtime may have created it although the client did not get the response
        return "".join(item.id for item in containers_named(runtime, sandbox, config.metadata.name))

    return containers.adopt(
        runtime.eventually("a CreateContainer that succeeds", attempt, seconds=60), config
    )


@requirement("CTR-01")
def test_create_container_returns_a_container_that_has_not_run(
    runtime: Runtime, containers: Containers
) -> None:
    """CreateContainer MUST return the id of a container in state CREATED whose `started_at`, `finished_at`
    and `exit_code` are 0.

    Source: CreateContainerResponse.container_id, ContainerStatus.
    """
    config = containers.config()

    response = runtime.stub.CreateContainer(containers.creation(config))

    assert response.container_id
    status = containers.adopt(response.container_id, config).status()
    assert status.state == cri.CONTAINER_CREATED
    assert (status.started_at, status.finished_at, status.exit_code) == (0, 0, 0)


@requirement("CTR-02")
def test_the_process_does_not_run_before_start_container(containers: Containers) -> None:
    """CreateContainer MUST NOT run the container's process.

    Source: CreateContainer, StartContainer. The line in the log of a container that was created later shows
    that the process had time to print.
    """
    waiting = containers.created(script="echo started")
    containers.running(first="echo started", wait_for_log="started")

    assert waiting.log_lines() == []
    assert waiting.state() == cri.CONTAINER_CREATED


@requirement("CTR-04")
def test_create_container_in_an_unknown_sandbox_is_refused(runtime: Runtime, containers: Containers) -> None:
    """CreateContainer MUST fail for an unknown sandbox id.

    Source: CreateContainerRequest.pod_sandbox_id.
    """
    request = containers.creation(containers.config())
    # everything else is valid, so that only the id can be the reason
    request.pod_sandbox_id = NO_SUCH_ID

    runtime.refusal(runtime.stub.CreateContainer, request)


@requirement("CTR-05")
def test_create_container_does_not_pull_a_missing_image(
    runtime: Runtime, containers: Containers, registry: Registry
) -> None:
    """CreateContainer MUST fail if the image is not on the node, and MUST NOT pull it.

    Source: ContainerConfig.image; not stated by the CRI, the kubelet applies its pull policy and pulls before
    it creates.
    """
    # the registry has the image, so a pull would succeed
    absent = registry.mint()
    config = containers.config(image=ImageName(absent.reference, absent.reference))

    runtime.refusal(runtime.stub.CreateContainer, containers.creation(config))

    assert registry.requests(absent) == []


@requirement("CTR-06")
@pytest.mark.parametrize("form", REFERENCES)
def test_create_container_accepts_every_name_of_an_image(
    runtime: Runtime, images: Images, containers: Containers, form: str
) -> None:
    """CreateContainer MUST accept the reference that PullImage returned, the image's id, a tag and a
    repository digest for the same image.

    Source: ContainerConfig.image, PullImageResponse.image_ref, Image.
    """
    name = images.pull("process")
    image = images.look_up(name.reference) or cri.Image()
    # only this image sets the variable
    config = containers.config(image=name, first="echo $FROM_IMAGE")
    config.image.image = REFERENCES[form](name, image) or blocked(f"ImageStatus has no {form}")

    response = runtime.stub.CreateContainer(containers.creation(config))

    container = containers.adopt(response.container_id, config)
    container.start()
    assert container.wait_for_log("image value") == ["image value"]


@requirement("CTR-07/never-two")
def test_a_repeated_name_and_attempt_never_creates_two_containers(
    runtime: Runtime, sandbox: Sandbox, container: Container, containers: Containers
) -> None:
    """CreateContainer MUST NOT create two containers of the same name and attempt in one sandbox.

    Source: ContainerMetadata.
    """
    with may_be_refused():
        runtime.stub.CreateContainer(containers.creation(container.config))

    assert [item.id for item in containers_named(runtime, sandbox, container.config.metadata.name)] == [
        container.id
    ]


@requirement("CTR-07/form")
def test_form_of_the_response_to_a_repeated_name_and_attempt(
    runtime: Runtime, container: Container, record_variant: RecordVariant, containers: Containers
) -> None:
    """CreateContainer with the name and attempt of an existing container MAY fail or return its id.

    Source: ContainerMetadata; not stated by the CRI.
    """
    try:
        response = runtime.stub.CreateContainer(containers.creation(container.config)).container_id
    except grpc.RpcError as error:
        record_variant(f"fails with {refused_with(error).name}")
        return

    assert response == container.id
    record_variant("returns the existing id")


@requirement("CTR-08")
def test_a_container_is_created_again_with_the_next_attempt(runtime: Runtime, containers: Containers) -> None:
    """CreateContainer MUST succeed while an exited container of the same name and an earlier attempt exists.

    Source: ContainerMetadata.attempt; the kubelet restarts containers this way.
    """
    first = containers.exited()
    config = containers.config(name=first.config.metadata.name, attempt=1)

    response = runtime.stub.CreateContainer(containers.creation(config))

    second = containers.adopt(response.container_id, config)
    second.start()
    assert second.state() == cri.CONTAINER_RUNNING
    assert {
        item.metadata.attempt: item.id
        for item in containers_named(runtime, first.sandbox, config.metadata.name)
    } == {0: first.id, 1: second.id}


@requirement("CTR-09")
def test_two_sandboxes_may_have_containers_of_one_name(
    runtime: Runtime, container: Container, own_sandbox: Sandbox, containers: Containers
) -> None:
    """CreateContainer MUST accept a name that a container in another sandbox has.

    Source: ContainerMetadata.name, which is unique within a sandbox only.
    """
    # with the same attempt, too
    response = runtime.stub.CreateContainer(containers.creation(container.config, own_sandbox))

    twin = containers.adopt(response.container_id, container.config, own_sandbox)
    assert twin.id != container.id
    assert (twin.state(), container.state()) == (cri.CONTAINER_CREATED, cri.CONTAINER_CREATED)


@requirement("CTR-10")
def test_a_name_and_attempt_after_removal(
    runtime: Runtime,
    sandbox: Sandbox,
    container: Container,
    containers: Containers,
    record_variant: RecordVariant,
) -> None:
    """CreateContainer MAY accept or reject the name and attempt of a removed container.

    Source: ContainerMetadata, RemoveContainer; not stated by the CRI.
    """
    container.discard()

    try:
        again = containers.adopt(
            runtime.stub.CreateContainer(containers.creation(container.config)).container_id,
            container.config,
        )
        record_variant("works")
    except grpc.RpcError as error:
        record_variant(f"fails with {refused_with(error).name}")
        again = None

    listed = [item.id for item in containers_named(runtime, sandbox, container.config.metadata.name)]
    assert listed == ([again.id] if again else [])
    assert container.id not in listed


@requirement("CTR-11")
def test_a_failed_create_leaves_nothing_behind(
    runtime: Runtime, sandbox: Sandbox, containers: Containers, image: ImageName
) -> None:
    """CreateContainer MUST leave neither a container nor a log file when it fails, and MUST accept the same
    name and attempt afterwards.

    Source: CreateContainer; not stated by the CRI, the kubelet would otherwise retry for ever.
    """
    config = containers.config()
    request = containers.creation(config)
    request.config.image.image = request.config.image.user_specified_image = (
        f"{image.written.rpartition(':')[0]}:no-such-tag"
    )
    runtime.refusal(runtime.stub.CreateContainer, request)

    remaining, log = (
        containers_named(runtime, sandbox, config.metadata.name),
        (sandbox.log_directory / config.log_path).exists(),
    )
    request.config.CopyFrom(config)
    response = runtime.stub.CreateContainer(request)

    assert containers.adopt(response.container_id, config).state() == cri.CONTAINER_CREATED
    assert remaining == []
    assert not log, "the failed CreateContainer left a log file"


@requirement("CTR-12")
def test_a_create_that_exceeded_its_deadline_can_be_retried(
    runtime: Runtime, sandbox: Sandbox, containers: Containers
) -> None:
    """CreateContainer that the client retries after its deadline MUST in the end create exactly one
    container.

    Source: CreateContainer; not stated by the CRI, the kubelet retries after its runtime request timeout.
    """
    config = containers.config()
    # 15 ms: the runtime has received the request, and has not created the snapshot yet
    create_with_deadline(runtime, containers, config, 0.015)
    container = create_with_retries(runtime, sandbox, containers, config)

    assert [item.id for item in containers_named(runtime, sandbox, config.metadata.name)] == [container.id]
    container.start()
    assert container.state() == cri.CONTAINER_RUNNING


@requirement("CTR-12")
@not_under("restarts", reason="the daemon ends while it works on the call that exceeded its deadline")
def test_a_container_starts_after_a_create_that_exceeded_its_deadline(
    runtime: Runtime, sandbox: Sandbox, containers: Containers
) -> None:
    """StartContainer MUST start a container that a retry of CreateContainer returned, whenever the deadline
    of the first call was exceeded.

    Source: CreateContainer and StartContainer; not stated by the CRI, the kubelet starts the container that
    its retry returned.
    """
    configs = [containers.config() for _ in DEADLINES]
    for config, seconds in zip(configs, DEADLINES, strict=True):
        create_with_deadline(runtime, containers, config, seconds)

    for config, seconds in zip(configs, DEADLINES, strict=True):
        container = create_with_retries(runtime, sandbox, containers, config)
        container.start()
        assert container.state() == cri.CONTAINER_RUNNING, f"deadline of {seconds} s"


@requirement("CTR-13")
def test_start_container_runs_the_process(runtime: Runtime, container: Container) -> None:
    """StartContainer MUST bring a created container to RUNNING, and `started_at` MUST NOT be before
    `created_at`.

    Source: StartContainer, ContainerStatus.state, created_at and started_at.
    """
    runtime.stub.StartContainer(cri.StartContainerRequest(container_id=container.id))

    status = container.status()
    assert status.state == cri.CONTAINER_RUNNING
    assert status.started_at >= status.created_at > 0


@requirement("CTR-19/unchanged")
def test_start_of_a_running_container_changes_nothing(runtime: Runtime, containers: Containers) -> None:
    """StartContainer of a running container MUST NOT change its state and its process.

    Source: StartContainer; not stated by the CRI, a second start could otherwise start a second process or
    lose the first.
    """
    # a second process would print the line again
    container = containers.running(first="echo started", wait_for_log="started")
    # field 22 of stat is the start time of the process, in clock ticks since boot
    before, start_ticks = container.status(), container.output("cut", "-d ", "-f22", "/proc/1/stat")

    with may_be_refused():
        runtime.stub.StartContainer(cri.StartContainerRequest(container_id=container.id))

    after = container.status()
    assert (after.state, after.started_at) == (before.state, before.started_at)
    assert container.output("cut", "-d ", "-f22", "/proc/1/stat") == start_ticks, "another first process"
    assert container.log_lines() == ["started"]


@requirement("CTR-19/unchanged")
def test_start_of_an_exited_container_changes_nothing(runtime: Runtime, exited_container: Container) -> None:
    """StartContainer of an exited container MUST NOT change its state, exit code and times.

    Source: StartContainer; not stated by the CRI, a container runs once and the kubelet creates another one
    for every restart.
    """
    before, printed = exited_container.status(), exited_container.log_lines()

    with may_be_refused():
        runtime.stub.StartContainer(cri.StartContainerRequest(container_id=exited_container.id))

    after = exited_container.status()
    assert (after.state, after.exit_code) == (before.state, before.exit_code)
    assert (after.started_at, after.finished_at) == (before.started_at, before.finished_at)
    assert exited_container.log_lines() == printed


@requirement("CTR-19/error")
@pytest.mark.parametrize("state", [cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED], ids=["running", "exited"])
def test_second_start_is_refused(
    runtime: Runtime, containers: Containers, state: "cri.ContainerState"
) -> None:
    """StartContainer SHOULD fail for a container that has been started before.

    Source: StartContainer; not stated by the CRI, a success would report a start that did not happen.
    """
    container = containers.in_state(state)

    runtime.refusal(runtime.stub.StartContainer, cri.StartContainerRequest(container_id=container.id))
