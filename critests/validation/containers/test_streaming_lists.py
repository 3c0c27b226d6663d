"""LST: the Stream RPCs of lists, compared with the List RPCs."""

import secrets
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Unpack

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Containers,
    OwnRuntime,
    RecordVariant,
    Runtime,
    Sandbox,
    Sandboxes,
    ScriptOptions,
    disruptive,
    must_be_refused,
    refused_with,
    requirement,
    requires,
    setting_up,
    slow,
    unsupported,
)
from critests.validation.containers.list_rpcs import CONTAINERS, LIST_RPCS, WITH_FILTERS, ListRpcs

LABEL, UNUSED_LABEL = {"critests.listed": secrets.token_hex(8)}, {"critests.listed": "unused"}
"""A label of this process's pods, as other workers create and remove theirs between two calls, and a label
that no pod has.
"""
MANY, AT_ONCE = 120, 8
"""Number of containers of a long list, and how many of them are created at the same time."""
LARGE = {"example.com/large": "x" * 200_000}
LARGE_COUNT = 88
"""Number of containers with that annotation that exceeds the 16 MiB of a response."""
HUGE, HUGE_COUNT = {"example.com/huge": "x" * 3_000_000}, 6
"""An annotation, and the number of containers with it that exceeds the 16 MiB of a response."""
CANCELLED = 50

every_list = pytest.mark.parametrize("rpcs", LIST_RPCS.values(), ids=LIST_RPCS)
every_filter = pytest.mark.parametrize("rpcs", WITH_FILTERS.values(), ids=WITH_FILTERS)


@pytest.fixture
def listed_pods(sandboxes: Sandboxes, containers: Containers) -> list[Sandbox]:
    """Three labelled pods with a labelled running container each: every list has several items."""
    pods = [sandboxes.ready(labels=LABEL) for _ in range(3)]
    for pod in pods:
        containers.running(in_sandbox=pod, labels=LABEL)
    return pods


def own_ids(pods: list[Sandbox], ids: list[str]) -> list[str]:
    """Return those ids that belong to these pods and their containers, sorted."""
    own = {pod.id for pod in pods} | {each for pod in pods for each in pod.container_ids}
    return sorted(each for each in ids if each in own)


def create_many(
    containers: Containers, sandbox: Sandbox, number: int, **options: Unpack[ScriptOptions]
) -> list[str]:
    """Create many containers in the set-up, some at the same time, and return their ids."""
    with ThreadPoolExecutor(AT_ONCE) as executor:
        calls = [
            executor.submit(lambda: containers.created(in_sandbox=sandbox, **options).id)
            for _ in range(number)
        ]
        return [call.result() for call in calls]


@requirement("LST-01")
@requires(Capability.STREAMING_LISTS)
@every_list
def test_a_streamed_list_equals_the_unary_list(
    runtime: Runtime, listed_pods: list[Sandbox], rpcs: ListRpcs
) -> None:
    """A Stream RPC MUST return the same items as its List RPC.

    Source: the comments of the streaming list RPCs.
    """
    before = rpcs.ids(rpcs.listed(runtime))
    streamed = rpcs.ids(rpcs.streamed(runtime))
    after = rpcs.ids(rpcs.listed(runtime))

    assert own_ids(listed_pods, streamed) == own_ids(listed_pods, before)
    # other tests may create and remove objects meanwhile
    assert set(before) & set(after) <= set(streamed)


@requirement("LST-01")
@requires(Capability.STREAMING_LISTS)
@slow
def test_a_long_streamed_list_equals_the_unary_list(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """StreamContainers MUST return the same items as ListContainers for very many containers.

    Source: the comment of StreamContainers.
    """
    ids = create_many(containers, own_sandbox, MANY)

    streamed = CONTAINERS.streamed(runtime, pod_sandbox_id=own_sandbox.id)

    listed = {item.id: item for item in CONTAINERS.listed(runtime, pod_sandbox_id=own_sandbox.id)}
    assert {item.id: item for item in streamed} == listed
    assert sorted(CONTAINERS.ids(streamed)) == sorted(ids)


@requirement("LST-02")
@requires(Capability.STREAMING_LISTS)
@every_list
def test_no_message_of_a_streamed_list_is_empty(
    runtime: Runtime, listed_pods: list[Sandbox], rpcs: ListRpcs
) -> None:
    """A message of a Stream RPC MUST have at least one item.

    Source: the comments of the streaming list RPCs.
    """
    assert listed_pods

    pieces = rpcs.items_by_message(runtime)

    assert pieces
    assert [piece for piece in pieces if not piece] == []


@requirement("LST-03")
@requires(Capability.STREAMING_LISTS)
@every_list
def test_every_item_of_a_streamed_list_is_sent_once(
    runtime: Runtime, listed_pods: list[Sandbox], rpcs: ListRpcs
) -> None:
    """A Stream RPC MUST return each item once.

    Source: the comments of the streaming list RPCs.
    """
    assert listed_pods

    items = rpcs.streamed(runtime)

    assert [each for each, times in Counter(rpcs.ids(items)).items() if times > 1] == []


@requirement("LST-04")
@requires(Capability.STREAMING_LISTS)
@every_filter
def test_an_empty_streamed_list_ends_without_a_message(
    runtime: Runtime, listed_pods: list[Sandbox], rpcs: ListRpcs
) -> None:
    """A Stream RPC whose filter matches nothing MUST end with OK and without a message.

    Source: the comments of the streaming list RPCs.
    """
    assert listed_pods

    assert rpcs.items_by_message(runtime, label_selector=UNUSED_LABEL) == []


@requirement("LST-05")
@requires(Capability.STREAMING_LISTS)
@every_filter
@pytest.mark.parametrize("by", ["label", "id"])
def test_a_streamed_list_is_filtered_like_the_unary_list(
    runtime: Runtime, listed_pods: list[Sandbox], rpcs: ListRpcs, by: str
) -> None:
    """A Stream RPC with a filter MUST return the same items as its List RPC with that filter.

    Source: the filters of the streaming list RPCs.
    """
    # ids of this test only, as other tests create objects meanwhile
    unfiltered = own_ids(listed_pods, rpcs.ids(rpcs.listed(runtime)))
    fields = {"label_selector": LABEL} if by == "label" else {"id": unfiltered[0]}

    streamed = sorted(rpcs.ids(rpcs.streamed(runtime, **fields)))

    assert streamed == sorted(rpcs.ids(rpcs.listed(runtime, **fields)))
    assert own_ids(listed_pods, streamed) == (unfiltered if by == "label" else unfiltered[:1])


@requirement("LST-05")
@requires(Capability.STREAMING_LISTS)
def test_a_streamed_list_of_containers_is_filtered_by_state(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """StreamContainers filtered by state MUST return only containers in that state.

    Source: ContainerFilter.state.
    """
    created, running = (
        containers.created(in_sandbox=own_sandbox),
        containers.running(in_sandbox=own_sandbox),
    )

    for state, expected in {cri.CONTAINER_CREATED: created, cri.CONTAINER_RUNNING: running}.items():
        in_state = cri.ContainerStateValue(state=state)
        streamed = CONTAINERS.streamed(runtime, pod_sandbox_id=own_sandbox.id, state=in_state)

        assert CONTAINERS.ids(streamed) == [expected.id]


@requirement("LST-06/many-small")
@requires(Capability.STREAMING_LISTS)
@disruptive
@slow
def test_a_streamed_list_may_exceed_the_size_of_a_response(own_runtime: OwnRuntime) -> None:
    """StreamContainers SHOULD return all items of a list that is larger than the 16 MiB of a response.

    Source: the comment of StreamContainers. Not stated by the CRI; it is the purpose of these RPCs.
    """
    # a runtime of the test's own: a list of this size would exceed the response of a List RPC for other tests
    pod = own_runtime.sandbox()
    ids = create_many(own_runtime.containers, pod, LARGE_COUNT, annotations=LARGE)

    streamed = CONTAINERS.streamed(own_runtime)

    assert set(ids) <= set(CONTAINERS.ids(streamed))


@requirement("LST-06/few-huge")
@requires(Capability.STREAMING_LISTS)
@disruptive
@slow
def test_a_streamed_list_of_few_huge_items(own_runtime: OwnRuntime, record_variant: RecordVariant) -> None:
    """StreamContainers MAY put a few very large items into one message that exceeds the maximum size.

    Source: StreamContainers; the CRI does not state how items are distributed over messages.
    """
    create_many(own_runtime.containers, own_runtime.sandbox(), HUGE_COUNT, annotations=HUGE)

    try:
        pieces = CONTAINERS.items_by_message(own_runtime)
    except grpc.RpcError as error:
        record_variant(f"the stream fails with {refused_with(error).name}")
    else:
        record_variant("items are distributed by size" if len(pieces) > 1 else "all items are in one message")


@requirement("LST-07")
@requires(Capability.STREAMING_LISTS)
def test_a_streamed_list_is_complete_after_cancelled_ones(
    runtime: Runtime, listed_pods: list[Sandbox]
) -> None:
    """StreamContainers SHOULD return all items after clients have cancelled many streams.

    Source: StreamContainers. Not stated by the CRI; a client may leave at any time.
    """
    for _ in range(CANCELLED):
        messages = CONTAINERS.messages(runtime)
        # the stream is open, and the runtime has begun to send
        assert next(iter(messages))
        messages.cancel()

    streamed = CONTAINERS.ids(CONTAINERS.streamed(runtime))

    assert own_ids(listed_pods, streamed) == sorted(each for pod in listed_pods for each in pod.container_ids)


@requirement("LST-08")
@requires(Capability.STREAMING_LISTS)
def test_a_streamed_list_that_no_client_reads_blocks_nothing(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """StreamContainers whose client does not read MUST NOT block the creation, listing and removal of
    containers.

    Source: StreamContainers. Not stated by the CRI; no client may block a node.
    """
    # 2 MB: more than gRPC's flow control lets a server send to a client that does not read
    create_many(containers, own_sandbox, 10, annotations=LARGE)
    # an iterator that is never advanced
    stalled = CONTAINERS.messages(runtime, pod_sandbox_id=own_sandbox.id)

    container_id = runtime.stub.CreateContainer(
        containers.creation(containers.config(), own_sandbox)
    ).container_id
    listed = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(id=container_id))
    ).containers
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container_id))

    stalled.cancel()
    assert [item.id for item in listed] == [container_id]


@requirement("LST-09")
@every_list
def test_missing_streaming_rpcs_fail_with_unimplemented(runtime: Runtime, rpcs: ListRpcs) -> None:
    """A Stream RPC that the runtime does not have MUST fail with Unimplemented.

    Source: the gRPC status codes; the kubelet then calls the List RPC.
    """
    if runtime.has(Capability.STREAMING_LISTS):
        unsupported("a runtime without streaming lists: this one has them")

    with must_be_refused(grpc.StatusCode.UNIMPLEMENTED) as refusal:
        list(rpcs.messages(runtime))

    assert refusal.code is grpc.StatusCode.UNIMPLEMENTED


@requirement("LST-10")
@requires(Capability.STREAMING_LISTS)
def test_a_container_that_stays_is_streamed_once(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """StreamContainers MUST return a container that exists during the whole stream once, also while others
    are created and removed.

    Source: the comments of the streaming list RPCs.
    """
    staying = sorted(create_many(containers, own_sandbox, AT_ONCE))

    def create_and_remove() -> None:
        with setting_up():
            for _ in range(AT_ONCE):
                containers.created(in_sandbox=own_sandbox).discard()

    with ThreadPoolExecutor(1) as executor:
        churn = executor.submit(create_and_remove)
        streams = [CONTAINERS.ids(CONTAINERS.streamed(runtime, pod_sandbox_id=own_sandbox.id))]
        while not churn.done():
            streams.append(CONTAINERS.ids(CONTAINERS.streamed(runtime, pod_sandbox_id=own_sandbox.id)))
        churn.result()

    assert [ids for ids in streams if sorted(each for each in ids if each in staying) != staying] == []
