"""CTA: lists of containers, and what a filter leaves of them. Other containers may be there: each test looks
for its own.
"""

import secrets
from collections.abc import Callable

import pytest

from critests.api import api_pb2 as cri
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime
from critests.lifecycle.containers import Container
from critests.lifecycle.sandboxes import Sandbox
from critests.node.capabilities import NO_SUCH_ID
from critests.run.marks import requirement

STATES = [cri.CONTAINER_CREATED, cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED]


def ids(answer: cri.ListContainersResponse) -> list[str]:
    """Return the ids in a list."""
    return [item.id for item in answer.containers]


@requirement("CTA-17")
def test_list_without_filter_has_containers_in_every_state(runtime: Runtime, containers: Containers) -> None:
    """ListContainers without a filter MUST list containers in every state, each once.

    Source: ListContainersRequest.filter.
    """
    made = {containers.in_state(state).id: state for state in STATES}

    answer = runtime.stub.ListContainers(cri.ListContainersRequest())

    assert {item.id: item.state for item in answer.containers if item.id in made} == made
    assert len(set(ids(answer))) == len(ids(answer))


@requirement("CTA-18")
def test_list_filters_by_id(runtime: Runtime, container: Container, containers: Containers) -> None:
    """A filter with an id MUST leave only the container of that id.

    Source: ContainerFilter.id.
    """
    containers.created()

    answer = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(id=container.id))
    )

    assert ids(answer) == [container.id]


@requirement("CTA-18")
@pytest.mark.parametrize("state", STATES, ids=["created", "running", "ended"])
def test_list_filters_containers_by_state(
    runtime: Runtime, containers: Containers, state: "cri.ContainerState"
) -> None:
    """A filter with a state MUST leave only containers in that state.

    Source: ContainerFilter.state.
    """
    made = {other: containers.in_state(other).id for other in STATES}

    answer = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(state=cri.ContainerStateValue(state=state)))
    )

    assert {item.state for item in answer.containers} == {state}
    assert set(ids(answer)) & set(made.values()) == {made[state]}


@requirement("CTA-18")
def test_list_filters_by_sandbox(
    runtime: Runtime, container: Container, own_sandbox: Sandbox, containers: Containers
) -> None:
    """A filter with a sandbox MUST leave only the containers of that sandbox.

    Source: ContainerFilter.pod_sandbox_id.
    """
    wanted = {containers.created(in_sandbox=own_sandbox).id, containers.created(in_sandbox=own_sandbox).id}

    answer = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(pod_sandbox_id=own_sandbox.id))
    )

    assert set(ids(answer)) == wanted
    assert container.id not in wanted


@requirement("CTA-19")
def test_list_filters_by_all_labels_together(runtime: Runtime, containers: Containers) -> None:
    """A filter with several labels MUST leave only containers that have all of them with these values.

    Source: ContainerFilter.label_selector.
    """
    mine = secrets.token_hex(8)
    wanted = containers.created(labels={"mine": mine, "colour": "red", "more": "yes"})
    containers.created(labels={"mine": mine, "colour": "blue"})
    containers.created(labels={"mine": mine})
    containers.created(labels={"colour": "red"})

    chosen = cri.ContainerFilter(label_selector={"mine": mine, "colour": "red"})
    answer = runtime.stub.ListContainers(cri.ListContainersRequest(filter=chosen))

    assert ids(answer) == [wanted.id]


@requirement("CTA-19")
def test_list_is_empty_for_labels_that_no_container_has(runtime: Runtime, containers: Containers) -> None:
    """A filter with a label whose value no container has MUST leave nothing.

    Source: ContainerFilter.label_selector.
    """
    containers.created(labels={"colour": "red"})

    answer = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(label_selector={"colour": secrets.token_hex(8)}))
    )

    assert ids(answer) == []


CONTRADICTIONS: dict[str, Callable[[cri.ContainerFilter], None]] = {
    "another id": lambda chosen: chosen.MergeFrom(cri.ContainerFilter(id=NO_SUCH_ID)),
    "another state": lambda chosen: chosen.MergeFrom(
        cri.ContainerFilter(state=cri.ContainerStateValue(state=cri.CONTAINER_EXITED))
    ),
    "another sandbox": lambda chosen: chosen.MergeFrom(cri.ContainerFilter(pod_sandbox_id=NO_SUCH_ID)),
    "another label": lambda chosen: chosen.MergeFrom(cri.ContainerFilter(label_selector={"colour": "blue"})),
}


@pytest.fixture
def exact(containers: Containers) -> cri.ContainerFilter:
    """A filter whose four fields all fit one running container."""
    container = containers.running(labels={"colour": "red"})
    return cri.ContainerFilter(
        id=container.id,
        state=cri.ContainerStateValue(state=cri.CONTAINER_RUNNING),
        pod_sandbox_id=container.sandbox.id,
        label_selector={"colour": "red"},
    )


@requirement("CTA-20")
def test_list_finds_a_container_by_every_field_at_once(runtime: Runtime, exact: cri.ContainerFilter) -> None:
    """A filter whose id, state, sandbox and labels all fit a container MUST leave it.

    Source: ContainerFilter.
    """
    answer = runtime.stub.ListContainers(cri.ListContainersRequest(filter=exact))

    assert ids(answer) == [exact.id]


@requirement("CTA-20")
@pytest.mark.parametrize("contradiction", CONTRADICTIONS)
def test_list_is_empty_when_one_field_of_the_filter_does_not_fit(
    runtime: Runtime, exact: cri.ContainerFilter, contradiction: str
) -> None:
    """A filter of which one field does not fit MUST leave out a container that all the others fit.

    Source: ContainerFilter, whose fields hold together.
    """
    CONTRADICTIONS[contradiction](exact)

    answer = runtime.stub.ListContainers(cri.ListContainersRequest(filter=exact))

    assert ids(answer) == []


@requirement("CTA-21")
def test_a_filter_without_state_is_not_one_for_created(
    runtime: Runtime, containers: Containers, own_sandbox: Sandbox
) -> None:
    """A filter whose state is not set MUST leave containers in every state; one for CREATED, the state of
    number 0, only those.

    Source: ContainerFilter.state, which is a message so that the two can be told apart.
    """
    made = {containers.in_state(state, in_sandbox=own_sandbox).id: state for state in STATES}
    without, created = (
        cri.ContainerFilter(pod_sandbox_id=own_sandbox.id),
        cri.ContainerFilter(pod_sandbox_id=own_sandbox.id),
    )
    created.state.state = cri.CONTAINER_CREATED

    all_states = runtime.stub.ListContainers(cri.ListContainersRequest(filter=without))
    only_created = runtime.stub.ListContainers(cri.ListContainersRequest(filter=created))

    assert set(ids(all_states)) == set(made)
    assert ids(only_created) == [
        container_id for container_id, state in made.items() if state == cri.CONTAINER_CREATED
    ]


@requirement("CTA-22")
def test_list_is_empty_for_an_unknown_sandbox(runtime: Runtime, container: Container) -> None:
    """A filter with a sandbox that does not exist MUST leave nothing, and MUST NOT be an error.

    Source: ContainerFilter.pod_sandbox_id.
    """
    answer = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(pod_sandbox_id=NO_SUCH_ID))
    )

    assert ids(answer) == []
    assert container.id


@requirement("CTA-25")
def test_the_sandbox_itself_is_no_container(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """ListContainers MUST NOT list what a runtime runs for the sandbox itself.

    Source: Container, which is what CreateContainer made, with the metadata of its request. The kubelet would
    kill what it has not made.
    """
    container = containers.created(in_sandbox=own_sandbox)

    answer = runtime.stub.ListContainers(cri.ListContainersRequest())

    assert [item.id for item in answer.containers if item.pod_sandbox_id == own_sandbox.id] == [container.id]
    assert own_sandbox.id not in ids(answer)
