"""CTA: ListContainers and its filters. Other containers may exist, so each test looks for its own."""

import secrets
from collections.abc import Callable

import pytest

from critests.api import api_pb2 as cri
from critests.testing import NO_SUCH_ID, Container, Containers, Runtime, Sandbox, requirement

STATES = [cri.CONTAINER_CREATED, cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED]


def ids(response: cri.ListContainersResponse) -> list[str]:
    """Return the container ids of a response."""
    return [item.id for item in response.containers]


@requirement("CTA-17")
def test_list_without_filter_has_containers_in_every_state(runtime: Runtime, containers: Containers) -> None:
    """ListContainers without a filter MUST return containers in every state, each once.

    Source: ListContainersRequest.filter.
    """
    created = {containers.in_state(state).id: state for state in STATES}

    response = runtime.stub.ListContainers(cri.ListContainersRequest())

    assert {item.id: item.state for item in response.containers if item.id in created} == created
    assert len(set(ids(response))) == len(ids(response))


@requirement("CTA-18")
def test_list_filters_by_id(runtime: Runtime, container: Container, containers: Containers) -> None:
    """ListContainers filtered by id MUST return only the container with that id.

    Source: ContainerFilter.id.
    """
    # a second container, which the filter must exclude
    containers.created()

    response = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(id=container.id))
    )

    assert ids(response) == [container.id]


@requirement("CTA-18")
@pytest.mark.parametrize("state", STATES, ids=["created", "running", "exited"])
def test_list_filters_containers_by_state(
    runtime: Runtime, containers: Containers, state: "cri.ContainerState"
) -> None:
    """ListContainers filtered by state MUST return only containers in that state.

    Source: ContainerFilter.state.
    """
    created = {other: containers.in_state(other).id for other in STATES}

    response = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(state=cri.ContainerStateValue(state=state)))
    )

    assert {item.state for item in response.containers} == {state}
    assert set(ids(response)) & set(created.values()) == {created[state]}


@requirement("CTA-18")
def test_list_filters_by_sandbox(
    runtime: Runtime, container: Container, own_sandbox: Sandbox, containers: Containers
) -> None:
    """ListContainers filtered by sandbox MUST return only the containers of that sandbox.

    Source: ContainerFilter.pod_sandbox_id.
    """
    inside = {containers.created(in_sandbox=own_sandbox).id, containers.created(in_sandbox=own_sandbox).id}

    response = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(pod_sandbox_id=own_sandbox.id))
    )

    assert set(ids(response)) == inside
    assert container.id not in inside


@requirement("CTA-19")
def test_list_filters_by_all_labels_together(runtime: Runtime, containers: Containers) -> None:
    """ListContainers filtered by several labels MUST return only containers that have all of them with these
    values.

    Source: ContainerFilter.label_selector.
    """
    token = secrets.token_hex(8)
    matching = containers.created(labels={"token": token, "colour": "red", "more": "yes"})
    containers.created(labels={"token": token, "colour": "blue"})
    containers.created(labels={"token": token})
    containers.created(labels={"colour": "red"})

    selector = cri.ContainerFilter(label_selector={"token": token, "colour": "red"})
    response = runtime.stub.ListContainers(cri.ListContainersRequest(filter=selector))

    assert ids(response) == [matching.id]


@requirement("CTA-19")
def test_list_is_empty_for_labels_that_no_container_has(runtime: Runtime, containers: Containers) -> None:
    """ListContainers with a filter for a label that no container has MUST return an empty list.

    Source: ContainerFilter.label_selector.
    """
    containers.created(labels={"colour": "red"})

    response = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(label_selector={"colour": secrets.token_hex(8)}))
    )

    assert ids(response) == []


CONTRADICTIONS: dict[str, Callable[[cri.ContainerFilter], None]] = {
    # each contradicts the container in one field only
    "another id": lambda each: each.MergeFrom(cri.ContainerFilter(id=NO_SUCH_ID)),
    "another state": lambda each: each.MergeFrom(
        cri.ContainerFilter(state=cri.ContainerStateValue(state=cri.CONTAINER_EXITED))
    ),
    "another sandbox": lambda each: each.MergeFrom(cri.ContainerFilter(pod_sandbox_id=NO_SUCH_ID)),
    "another label": lambda each: each.MergeFrom(cri.ContainerFilter(label_selector={"colour": "blue"})),
}


@pytest.fixture
def matching_filter(containers: Containers) -> cri.ContainerFilter:
    """A filter whose four fields all match one running container."""
    container = containers.running(labels={"colour": "red"})
    return cri.ContainerFilter(
        id=container.id,
        state=cri.ContainerStateValue(state=cri.CONTAINER_RUNNING),
        pod_sandbox_id=container.sandbox.id,
        label_selector={"colour": "red"},
    )


@requirement("CTA-20")
def test_list_filters_by_all_fields_together(runtime: Runtime, matching_filter: cri.ContainerFilter) -> None:
    """ListContainers MUST return a container that matches the id, state, sandbox and labels of the filter.

    Source: ContainerFilter.
    """
    response = runtime.stub.ListContainers(cri.ListContainersRequest(filter=matching_filter))

    assert ids(response) == [matching_filter.id]


@requirement("CTA-20")
@pytest.mark.parametrize("contradiction", CONTRADICTIONS)
def test_list_is_empty_when_one_field_of_the_filter_does_not_match(
    runtime: Runtime, matching_filter: cri.ContainerFilter, contradiction: str
) -> None:
    """ListContainers MUST NOT return a container that matches all fields of the filter but one.

    Source: ContainerFilter, whose fields are combined with AND.
    """
    CONTRADICTIONS[contradiction](matching_filter)

    response = runtime.stub.ListContainers(cri.ListContainersRequest(filter=matching_filter))

    assert ids(response) == []


@requirement("CTA-21")
def test_a_filter_without_state_matches_every_state(
    runtime: Runtime, containers: Containers, own_sandbox: Sandbox
) -> None:
    """ListContainers filtered without a state MUST return containers in every state; filtered by CREATED,
    whose enum value is 0, it MUST return only created ones.

    Source: ContainerFilter.state, which is a message so that an unset state differs from CREATED.
    """
    by_id = {containers.in_state(state, in_sandbox=own_sandbox).id: state for state in STATES}
    without, created = (
        cri.ContainerFilter(pod_sandbox_id=own_sandbox.id),
        cri.ContainerFilter(pod_sandbox_id=own_sandbox.id),
    )
    # sets the message, whose value is the default of the enum
    created.state.state = cri.CONTAINER_CREATED

    all_states = runtime.stub.ListContainers(cri.ListContainersRequest(filter=without))
    only_created = runtime.stub.ListContainers(cri.ListContainersRequest(filter=created))

    assert set(ids(all_states)) == set(by_id)
    assert ids(only_created) == [
        container_id for container_id, state in by_id.items() if state == cri.CONTAINER_CREATED
    ]


@requirement("CTA-22")
def test_list_is_empty_for_an_unknown_sandbox(runtime: Runtime, container: Container) -> None:
    """ListContainers filtered by an unknown sandbox MUST return an empty list, and MUST NOT fail.

    Source: ContainerFilter.pod_sandbox_id.
    """
    response = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(pod_sandbox_id=NO_SUCH_ID))
    )

    assert ids(response) == []
    # there is a container that a runtime without this filter would return
    assert container.id


@requirement("CTA-25")
def test_list_has_no_container_of_the_sandbox_itself(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """ListContainers MUST NOT return containers that the runtime runs for the sandbox itself.

    Source: Container, which has the metadata of a CreateContainer request. The kubelet would kill a container
    that it did not create.
    """
    container = containers.created(in_sandbox=own_sandbox)

    response = runtime.stub.ListContainers(cri.ListContainersRequest())

    assert [item.id for item in response.containers if item.pod_sandbox_id == own_sandbox.id] == [
        container.id
    ]
    assert own_sandbox.id not in ids(response)
