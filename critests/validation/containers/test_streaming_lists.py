"""LST: lists that come as a stream, held against those that come in one message."""

import secrets
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Unpack

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers, ScriptOptions
from critests.fixtures.own_runtime import OwnRuntime
from critests.fixtures.runtime import Runtime, must_be_refused, refused_with
from critests.fixtures.sandboxes import Sandboxes
from critests.fixtures.session import Observe
from critests.lifecycle.sandboxes import Sandbox
from critests.run.marks import disruptive, requirement, requires, slow
from critests.run.outcomes import setting_up, unsupported
from critests.validation.containers.twins import CONTAINERS, TWINS, WITH_FILTERS, Twin

LABEL, NOBODYS = {"critests.listed": secrets.token_hex(8)}, {"critests.listed": "by-nobody"}
"""The first is this process's own: another worker's pods come and go between two lists."""
MANY, AT_ONCE = 120, 8
"""How many containers make a long list, and how many of them are made at the same time."""
LARGE = {"example.com/large": "x" * 200_000}
ENOUGH_LARGE = 88
"""So many containers with that annotation are more than the 16 MiB that an answer may have."""
HUGE, FEW_HUGE = {"example.com/huge": "x" * 3_000_000}, 6
"""An annotation, and how many containers with it are more than that, too."""
CANCELLED = 50

every_list = pytest.mark.parametrize("twin", TWINS.values(), ids=TWINS)
every_filter = pytest.mark.parametrize("twin", WITH_FILTERS.values(), ids=WITH_FILTERS)


@pytest.fixture
def listed_pods(sandboxes: Sandboxes, containers: Containers) -> list[Sandbox]:
    """Three labelled pods with a labelled running container each, so that every list has several items."""
    pods = [sandboxes.ready(labels=LABEL) for _ in range(3)]
    for pod in pods:
        containers.running(in_sandbox=pod, labels=LABEL)
    return pods


def own_ids(pods: list[Sandbox], ids: list[str]) -> list[str]:
    """Return those of some ids that are of these pods and their containers, in order."""
    own = {pod.id for pod in pods} | {each for pod in pods for each in pod.container_ids}
    return sorted(each for each in ids if each in own)


def made(containers: Containers, home: Sandbox, number: int, **options: Unpack[ScriptOptions]) -> list[str]:
    """Make many containers in the set-up, some at the same time, and return their ids."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        calls = [
            threads.submit(lambda: containers.created(in_sandbox=home, **options).id) for _ in range(number)
        ]
        return [call.result() for call in calls]


@requirement("LST-01")
@requires(Capability.STREAMING_LISTS)
@every_list
def test_a_streamed_list_is_the_plain_one(runtime: Runtime, listed_pods: list[Sandbox], twin: Twin) -> None:
    """The items of a list MUST be the same whether they come as a stream or in one message.

    Source: the comments of the streaming list RPCs.
    """
    before = twin.ids(twin.listed(runtime))
    streamed = twin.ids(twin.streamed(runtime))
    after = twin.ids(twin.listed(runtime))

    assert own_ids(listed_pods, streamed) == own_ids(listed_pods, before)
    # other tests may make and remove things meanwhile
    assert set(before) & set(after) <= set(streamed)


@requirement("LST-01")
@requires(Capability.STREAMING_LISTS)
@slow
def test_a_long_streamed_list_is_the_plain_one(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """A streamed list of very many containers MUST have what the plain one has, item by item.

    Source: the comment of StreamContainers.
    """
    ids = made(containers, own_sandbox, MANY)

    streamed = CONTAINERS.streamed(runtime, pod_sandbox_id=own_sandbox.id)

    plain = {item.id: item for item in CONTAINERS.listed(runtime, pod_sandbox_id=own_sandbox.id)}
    assert {item.id: item for item in streamed} == plain
    assert sorted(CONTAINERS.ids(streamed)) == sorted(ids)


@requirement("LST-02")
@requires(Capability.STREAMING_LISTS)
@every_list
def test_no_message_of_a_streamed_list_is_empty(
    runtime: Runtime, listed_pods: list[Sandbox], twin: Twin
) -> None:
    """Every message of a streamed list MUST hold an item.

    Source: the comments of the streaming list RPCs.
    """
    assert listed_pods

    pieces = twin.pieces_of(runtime)

    assert pieces
    assert [piece for piece in pieces if not piece] == []


@requirement("LST-03")
@requires(Capability.STREAMING_LISTS)
@every_list
def test_no_item_of_a_streamed_list_comes_twice(
    runtime: Runtime, listed_pods: list[Sandbox], twin: Twin
) -> None:
    """A streamed list MUST have each item once.

    Source: the comments of the streaming list RPCs.
    """
    assert listed_pods

    items = twin.streamed(runtime)

    assert [each for each, times in Counter(twin.ids(items)).items() if times > 1] == []


@requirement("LST-04")
@requires(Capability.STREAMING_LISTS)
@every_filter
def test_a_streamed_list_of_nothing_ends_without_a_message(
    runtime: Runtime, listed_pods: list[Sandbox], twin: Twin
) -> None:
    """A streamed list that nothing matches MUST end with OK and without a message.

    Source: the comments of the streaming list RPCs.
    """
    assert listed_pods

    assert twin.pieces_of(runtime, label_selector=NOBODYS) == []


@requirement("LST-05")
@requires(Capability.STREAMING_LISTS)
@every_filter
@pytest.mark.parametrize("wanted", ["label", "id"])
def test_a_streamed_list_is_filtered_as_the_plain_one(
    runtime: Runtime, listed_pods: list[Sandbox], twin: Twin, wanted: str
) -> None:
    """A filter MUST leave the same of a streamed list as of the plain one.

    Source: the filters of the streaming list RPCs.
    """
    unfiltered = own_ids(listed_pods, twin.ids(twin.listed(runtime)))
    chosen = {"label_selector": LABEL} if wanted == "label" else {"id": unfiltered[0]}

    streamed = sorted(twin.ids(twin.streamed(runtime, **chosen)))

    assert streamed == sorted(twin.ids(twin.listed(runtime, **chosen)))
    assert own_ids(listed_pods, streamed) == (unfiltered if wanted == "label" else unfiltered[:1])


@requirement("LST-05")
@requires(Capability.STREAMING_LISTS)
def test_a_streamed_list_of_containers_is_filtered_by_state(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """A filter by state MUST leave the containers of a streamed list that are in that state.

    Source: ContainerFilter.state.
    """
    made_only, running = (
        containers.created(in_sandbox=own_sandbox),
        containers.running(in_sandbox=own_sandbox),
    )

    for state, wanted in {cri.CONTAINER_CREATED: made_only, cri.CONTAINER_RUNNING: running}.items():
        in_state = cri.ContainerStateValue(state=state)
        streamed = CONTAINERS.streamed(runtime, pod_sandbox_id=own_sandbox.id, state=in_state)

        assert CONTAINERS.ids(streamed) == [wanted.id]


@requirement("LST-06/many-small")
@requires(Capability.STREAMING_LISTS)
@disruptive
@slow
def test_a_streamed_list_may_be_larger_than_an_answer(own_runtime: OwnRuntime) -> None:
    """A streamed list SHOULD come whole where it is larger than the 16 MiB that one message may have.

    Source: the comment of StreamContainers. Not stated by the CRI; it is what these RPCs are for.
    """
    pod = own_runtime.sandbox()
    ids = made(own_runtime.containers, pod, ENOUGH_LARGE, annotations=LARGE)

    streamed = CONTAINERS.streamed(own_runtime)

    assert set(ids) <= set(CONTAINERS.ids(streamed))


@requirement("LST-06/few-huge")
@requires(Capability.STREAMING_LISTS)
@disruptive
@slow
def test_a_streamed_list_of_few_huge_items(own_runtime: OwnRuntime, observe: Observe) -> None:
    """Where a few items are larger than a message may be, a runtime MAY put too many of them into one.

    Source: StreamContainers; the CRI leaves open how items are spread over messages.
    """
    made(own_runtime.containers, own_runtime.sandbox(), FEW_HUGE, annotations=HUGE)

    try:
        pieces = CONTAINERS.pieces_of(own_runtime)
    except grpc.RpcError as error:
        observe(f"the stream fails with {refused_with(error).name}")
    else:
        observe("items are spread by their size" if len(pieces) > 1 else "all come in one message")


@requirement("LST-07")
@requires(Capability.STREAMING_LISTS)
def test_streamed_lists_that_are_given_up_leave_the_next_whole(
    runtime: Runtime, listed_pods: list[Sandbox]
) -> None:
    """When clients have given up many streamed lists, the next one SHOULD be whole.

    Source: StreamContainers. Not stated by the CRI; a client may go at any time.
    """
    for _ in range(CANCELLED):
        messages = CONTAINERS.messages(runtime)
        assert next(iter(messages))
        messages.cancel()

    streamed = CONTAINERS.ids(CONTAINERS.streamed(runtime))

    assert own_ids(listed_pods, streamed) == sorted(each for pod in listed_pods for each in pod.container_ids)


@requirement("LST-08")
@requires(Capability.STREAMING_LISTS)
def test_a_streamed_list_that_nobody_reads_holds_up_nothing(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """While a client reads nothing of its streamed list, containers MUST be made, listed and removed.

    Source: StreamContainers. Not stated by the CRI; no client may stop a node.
    """
    made(containers, own_sandbox, 10, annotations=LARGE)
    unread = CONTAINERS.messages(runtime, pod_sandbox_id=own_sandbox.id)

    made_beside = runtime.stub.CreateContainer(
        containers.creation(containers.config(), own_sandbox)
    ).container_id
    listed = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(id=made_beside))
    ).containers
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=made_beside))

    unread.cancel()
    assert [item.id for item in listed] == [made_beside]


@requirement("LST-09")
@every_list
def test_streamed_lists_that_are_not_there_are_unimplemented(runtime: Runtime, twin: Twin) -> None:
    """A runtime without streamed lists MUST say so with Unimplemented.

    Source: the gRPC status codes; the kubelet then asks for the plain list.
    """
    if runtime.has(Capability.STREAMING_LISTS):
        unsupported("a runtime without streaming lists: this one has them")

    with must_be_refused(grpc.StatusCode.UNIMPLEMENTED) as refusal:
        list(twin.messages(runtime))

    assert refusal.code is grpc.StatusCode.UNIMPLEMENTED


@requirement("LST-10")
@requires(Capability.STREAMING_LISTS)
def test_what_is_there_all_the_time_is_streamed_once(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """What is there for the whole time of a streamed list MUST come once, also while other things come and
    go.

    Source: the comments of the streaming list RPCs.
    """
    staying = sorted(made(containers, own_sandbox, AT_ONCE))

    def come_and_go() -> None:
        with setting_up():
            for _ in range(AT_ONCE):
                containers.created(in_sandbox=own_sandbox).discard()

    with ThreadPoolExecutor(1) as beside:
        churn = beside.submit(come_and_go)
        seen = [CONTAINERS.ids(CONTAINERS.streamed(runtime, pod_sandbox_id=own_sandbox.id))]
        while not churn.done():
            seen.append(CONTAINERS.ids(CONTAINERS.streamed(runtime, pod_sandbox_id=own_sandbox.id)))
        churn.result()

    assert [ids for ids in seen if sorted(each for each in ids if each in staying) != staying] == []
