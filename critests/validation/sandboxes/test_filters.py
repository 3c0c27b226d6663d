"""SBA: which sandboxes ListPodSandbox returns."""

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from critests.api import api_pb2 as cri
from critests.fixtures.runtime import Runtime
from critests.fixtures.sandboxes import Sandboxes, may_change, may_join_network
from critests.lifecycle.sandboxes import Sandbox
from critests.run.made_objects import MadeObjects
from critests.run.marks import requirement
from critests.run.outcomes import setting_up

OURS = f"critests-{secrets.token_hex(4)}.example"
"""Prefix of label keys that no other worker and no other run on the runtime uses."""
ROLE, TIER, BARE = f"{OURS}/role", f"{OURS}/tier", f"{OURS}/bare"


@dataclass(frozen=True)
class Population:
    """Sandboxes to choose from; the tests of this module share them and change nothing.

    Attributes:
        web: ready, of role `web` and tier `front`, with an empty label `bare`.
        database: ready, of role `database` and tier `back`.
        stopped: not ready, of role `web` and tier `back`.
    """

    web: Sandbox
    database: Sandbox
    stopped: Sandbox


Found = Callable[..., set[str]]


@pytest.fixture(scope="module")
def population(runtime: Runtime) -> Iterator[Population]:
    """Three sandboxes that differ in labels and state."""
    may_change(runtime)
    made = MadeObjects()

    def make(role: str, tier: str, **more: str) -> Sandbox:
        config = runtime.requests.sandbox(f"{role}-{tier}", labels={ROLE: role, TIER: tier, **more})
        may_join_network(runtime, config)
        made.sandboxes.append(Sandbox.run(runtime.connection, config, runtime.handler))
        return made.sandboxes[-1]

    try:
        with setting_up():
            all_three = Population(
                make("web", "front", **{BARE: ""}), make("database", "back"), make("web", "back")
            )
            all_three.stopped.stop()
        yield all_three
    finally:
        made.discard()


@pytest.fixture
def found(runtime: Runtime, population: Population) -> Found:
    """Call ListPodSandbox with a filter, and return which of the three it names; `strangers` stands for any
    other sandbox.
    """
    names = {population.web.id: "web", population.database.id: "database", population.stopped.id: "stopped"}

    def look(**wanted: object) -> set[str]:
        chosen = cri.PodSandboxFilter(**wanted)  # type: ignore[arg-type]  # the fields of the filter, by name
        answer = runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest(filter=chosen))
        return {names.get(item.id, "strangers") for item in answer.items}

    return look


def state(value: "cri.PodSandboxState") -> cri.PodSandboxStateValue:
    """Return a state as a filter wants it."""
    return cri.PodSandboxStateValue(state=value)


@requirement("SBA-15")
def test_list_without_a_filter_shows_every_sandbox(runtime: Runtime, population: Population) -> None:
    """ListPodSandbox without a filter MUST return the ready and the stopped sandboxes.

    Source: ListPodSandboxRequest.filter.
    """
    answer = runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest())

    states = {item.id: item.state for item in answer.items}
    assert states.get(population.web.id) == cri.SANDBOX_READY
    assert states.get(population.stopped.id) == cri.SANDBOX_NOTREADY


@requirement("SBA-16")
def test_list_filters_sandboxes_by_id(runtime: Runtime, population: Population) -> None:
    """A filter with a whole id MUST return that sandbox and no other.

    Source: PodSandboxFilter.id.
    """
    answer = runtime.stub.ListPodSandbox(
        cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(id=population.database.id))
    )

    assert [item.id for item in answer.items] == [population.database.id]


@requirement("SBA-17")
@pytest.mark.parametrize("wanted", [cri.SANDBOX_READY, cri.SANDBOX_NOTREADY], ids=["ready", "not ready"])
def test_list_filters_sandboxes_by_state(
    runtime: Runtime, population: Population, wanted: "cri.PodSandboxState"
) -> None:
    """A filter with a state MUST return the sandboxes in that state and no others.

    Source: PodSandboxFilter.state.
    """
    ours = (
        {population.web.id, population.database.id}
        if wanted == cri.SANDBOX_READY
        else {population.stopped.id}
    )

    answer = runtime.stub.ListPodSandbox(
        cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(state=state(wanted)))
    )

    assert ours <= {item.id for item in answer.items}
    assert {item.state for item in answer.items} == {wanted}


@requirement("SBA-18")
def test_filter_without_a_state_is_not_read_as_ready(found: Found) -> None:
    """A filter that names no state MUST return sandboxes in any state, although the first state's number is
    zero.

    Source: PodSandboxFilter.state, which is a message so that it can be absent.
    """
    assert found(label_selector={ROLE: "web"}) >= {"web", "stopped"}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param({ROLE: "web"}, {"web", "stopped"}, marks=requirement("SBA-19"), id="one label"),
        pytest.param({ROLE: "web", TIER: "back"}, {"stopped"}, marks=requirement("SBA-19"), id="two labels"),
        pytest.param({ROLE: "nobody's"}, set(), marks=requirement("SBA-19"), id="value that nobody has"),
        pytest.param(
            {"critests.example/absent": "web"}, set(), marks=requirement("SBA-19"), id="key that nobody has"
        ),
        pytest.param(
            {ROLE: "database", TIER: "front"},
            set(),
            marks=requirement("SBA-19"),
            id="labels of two different sandboxes",
        ),
        pytest.param({ROLE: "we"}, set(), marks=requirement("SBA-22"), id="start of the value"),
        pytest.param({ROLE: "eb"}, set(), marks=requirement("SBA-22"), id="end of the value"),
        pytest.param({ROLE: "WEB"}, set(), marks=requirement("SBA-22"), id="other case"),
        pytest.param({ROLE: ""}, set(), marks=requirement("SBA-22"), id="no value"),
        pytest.param({ROLE[:-1]: "web"}, set(), marks=requirement("SBA-22"), id="start of the key"),
        pytest.param({BARE: ""}, {"web"}, marks=requirement("SBA-22"), id="empty value"),
    ],
)
def test_list_filters_sandboxes_by_labels(
    runtime: Runtime, found: Found, selector: dict[str, str], expected: set[str]
) -> None:
    """A filter with labels MUST return the sandboxes that carry all of them, each with the whole key and the
    whole value, and an empty value only an empty one; where there are none, an empty list.

    Source: PodSandboxFilter.label_selector.
    """
    assert found(label_selector={**runtime.requests.run.labels, **selector}) == expected


@requirement("SBA-20")
@pytest.mark.parametrize(
    ("whose", "wanted", "labels", "expected"),
    [
        ("stopped", cri.SANDBOX_NOTREADY, {ROLE: "web"}, {"stopped"}),
        ("stopped", cri.SANDBOX_READY, {ROLE: "web"}, set()),
        ("web", cri.SANDBOX_READY, {ROLE: "database"}, set()),
    ],
    ids=["all hold", "the state does not", "the label does not"],
)
def test_conditions_of_a_sandbox_filter_combine(
    population: Population,
    found: Found,
    whose: str,
    wanted: "cri.PodSandboxState",
    labels: dict[str, str],
    expected: set[str],
) -> None:
    """A filter with id, state and labels MUST return what meets all three; where nothing does, an empty list.

    Source: PodSandboxFilter.
    """
    assert found(id=getattr(population, whose).id, state=state(wanted), label_selector=labels) == expected


@requirement("SBA-21")
def test_filter_with_an_unknown_sandbox_id_finds_nothing(runtime: Runtime) -> None:
    """A filter with an id that no sandbox has MUST give an empty list and no error.

    Source: PodSandboxFilter.id.
    """
    # the form of an id, and no object's
    answer = runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(id="0" * 64)))

    assert list(answer.items) == []


@requirement("SBA-24")
def test_list_names_no_sandbox_twice(runtime: Runtime, population: Population) -> None:
    """ListPodSandbox MUST name each sandbox once.

    Source: ListPodSandboxResponse.items.
    """
    answer = runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest())

    ids = [item.id for item in answer.items]
    assert population.web.id in ids
    assert sorted(ids) == sorted(set(ids))


@requirement("SBA-25")
def test_sandbox_that_is_listed_as_ready_can_be_used(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """A sandbox SHOULD NOT be listed as ready before it has what a ready one has: a status, and its address.

    Source: PodSandbox.state.
    """
    config = sandboxes.marked_config()
    call = runtime.stub.RunPodSandbox.future(sandboxes.creation(config))

    def look() -> list[cri.PodSandbox]:
        if call.done():
            # where no sandbox comes about, there is none to judge
            with setting_up():
                call.result()
        return [item for item in sandboxes.made_from(config) if item.state == cri.SANDBOX_READY]

    ready = runtime.eventually("the sandbox to be listed as ready", look, seconds=30)[0]
    early = runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=ready.id)).status

    made = sandboxes.adopt(call.result().pod_sandbox_id, config)
    assert early.state == cri.SANDBOX_READY
    assert early.network.ip == made.status().network.ip
