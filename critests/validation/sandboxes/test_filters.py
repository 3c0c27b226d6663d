"""SBA: which sandboxes ListPodSandbox returns."""

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from critests.api import api_pb2 as cri
from critests.fixtures.sandbox_fixtures import may_change, may_join_network
from critests.run.object_cleanup import ObjectCleanup
from critests.testing import Runtime, Sandbox, Sandboxes, requirement, setting_up

DOMAIN = f"critests-{secrets.token_hex(4)}.example"
"""Domain of label keys that no other worker or run uses on the runtime."""
ROLE, TIER, BARE = f"{DOMAIN}/role", f"{DOMAIN}/tier", f"{DOMAIN}/bare"


@dataclass(frozen=True)
class SandboxSet:
    """Sandboxes to filter; the tests of this module share them and change nothing.

    Attributes:
        web: ready, of role `web` and tier `front`, with an empty label `bare`.
        database: ready, of role `database` and tier `back`.
        stopped: not ready, of role `web` and tier `back`.
    """

    web: Sandbox
    database: Sandbox
    stopped: Sandbox


Selected = Callable[..., set[str]]


@pytest.fixture(scope="module")
def population(runtime: Runtime) -> Iterator[SandboxSet]:
    """Three sandboxes with different labels and states."""
    may_change(runtime)
    cleanup = ObjectCleanup()

    def make(role: str, tier: str, **more: str) -> Sandbox:
        config = runtime.requests.sandbox(f"{role}-{tier}", labels={ROLE: role, TIER: tier, **more})
        may_join_network(runtime, config)
        cleanup.sandboxes.append(Sandbox.run(runtime.connection, config, runtime.handler))
        return cleanup.sandboxes[-1]

    try:
        with setting_up():
            all_three = SandboxSet(
                make("web", "front", **{BARE: ""}), make("database", "back"), make("web", "back")
            )
            all_three.stopped.stop()
        yield all_three
    finally:
        cleanup.discard()


@pytest.fixture
def selected(runtime: Runtime, population: SandboxSet) -> Selected:
    """Call ListPodSandbox with a filter, and return which of the three sandboxes it lists; `others` stands
    for any other sandbox.
    """
    names = {population.web.id: "web", population.database.id: "database", population.stopped.id: "stopped"}

    def look(**fields: object) -> set[str]:
        chosen = cri.PodSandboxFilter(**fields)  # type: ignore[arg-type]  # the fields of the filter, by name
        response = runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest(filter=chosen))
        return {names.get(item.id, "others") for item in response.items}

    return look


def state_value(state: "cri.PodSandboxState") -> cri.PodSandboxStateValue:
    """Return the message for a state in a filter."""
    return cri.PodSandboxStateValue(state=state)


@requirement("SBA-15")
def test_list_without_a_filter_returns_every_sandbox(runtime: Runtime, population: SandboxSet) -> None:
    """ListPodSandbox without a filter MUST return both ready and stopped sandboxes.

    Source: ListPodSandboxRequest.filter.
    """
    response = runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest())

    states = {item.id: item.state for item in response.items}
    assert states.get(population.web.id) == cri.SANDBOX_READY
    assert states.get(population.stopped.id) == cri.SANDBOX_NOTREADY


@requirement("SBA-16")
def test_list_filters_sandboxes_by_id(runtime: Runtime, population: SandboxSet) -> None:
    """ListPodSandbox with a full id in the filter MUST return that sandbox and no other.

    Source: PodSandboxFilter.id.
    """
    response = runtime.stub.ListPodSandbox(
        cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(id=population.database.id))
    )

    assert [item.id for item in response.items] == [population.database.id]


@requirement("SBA-17")
@pytest.mark.parametrize("state", [cri.SANDBOX_READY, cri.SANDBOX_NOTREADY], ids=["ready", "not ready"])
def test_list_filters_sandboxes_by_state(
    runtime: Runtime, population: SandboxSet, state: "cri.PodSandboxState"
) -> None:
    """ListPodSandbox with a state in the filter MUST return the sandboxes in that state and no others.

    Source: PodSandboxFilter.state.
    """
    expected = (
        {population.web.id, population.database.id} if state == cri.SANDBOX_READY else {population.stopped.id}
    )

    response = runtime.stub.ListPodSandbox(
        cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(state=state_value(state)))
    )

    assert expected <= {item.id for item in response.items}
    assert {item.state for item in response.items} == {state}


@requirement("SBA-18")
def test_sandbox_filter_without_a_state_matches_every_state(selected: Selected) -> None:
    """ListPodSandbox without a state in the filter MUST return sandboxes in any state, although the number of
    READY is zero.

    Source: PodSandboxFilter.state, which is a message so that it can be unset.
    """
    assert selected(label_selector={ROLE: "web"}) >= {"web", "stopped"}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param({ROLE: "web"}, {"web", "stopped"}, marks=requirement("SBA-19"), id="one label"),
        pytest.param({ROLE: "web", TIER: "back"}, {"stopped"}, marks=requirement("SBA-19"), id="two labels"),
        pytest.param({ROLE: "nobody's"}, set(), marks=requirement("SBA-19"), id="unknown value"),
        pytest.param(
            {"critests.example/absent": "web"}, set(), marks=requirement("SBA-19"), id="unknown key"
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
        # an empty value is one like any other: only `web` has the label at all
        pytest.param({BARE: ""}, {"web"}, marks=requirement("SBA-22"), id="empty value"),
    ],
)
def test_list_filters_sandboxes_by_labels(
    runtime: Runtime, selected: Selected, selector: dict[str, str], expected: set[str]
) -> None:
    """ListPodSandbox with labels in the filter MUST return the sandboxes that have all of them, comparing
    whole keys and whole values, also empty ones; an empty list if no sandbox has them.

    Source: PodSandboxFilter.label_selector.
    """
    assert selected(label_selector={**runtime.requests.run.labels, **selector}) == expected


@requirement("SBA-20")
@pytest.mark.parametrize(
    ("name", "state", "labels", "expected"),
    [
        ("stopped", cri.SANDBOX_NOTREADY, {ROLE: "web"}, {"stopped"}),
        ("stopped", cri.SANDBOX_READY, {ROLE: "web"}, set()),
        ("web", cri.SANDBOX_READY, {ROLE: "database"}, set()),
    ],
    ids=["all hold", "the state does not", "the label does not"],
)
def test_conditions_of_a_sandbox_filter_combine(
    population: SandboxSet,
    selected: Selected,
    name: str,
    state: "cri.PodSandboxState",
    labels: dict[str, str],
    expected: set[str],
) -> None:
    """ListPodSandbox with id, state and labels in the filter MUST return sandboxes that match all three.

    Source: PodSandboxFilter.
    """
    sandbox_id = getattr(population, name).id
    assert selected(id=sandbox_id, state=state_value(state), label_selector=labels) == expected


@requirement("SBA-21")
def test_filter_with_an_unknown_sandbox_id_matches_nothing(runtime: Runtime) -> None:
    """ListPodSandbox with an unknown id in the filter MUST return an empty list and no error.

    Source: PodSandboxFilter.id.
    """
    # formed like an id, but of no object
    response = runtime.stub.ListPodSandbox(
        cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(id="0" * 64))
    )

    assert list(response.items) == []


@requirement("SBA-24")
def test_list_has_each_sandbox_once(runtime: Runtime, population: SandboxSet) -> None:
    """ListPodSandbox MUST return each sandbox once.

    Source: ListPodSandboxResponse.items.
    """
    response = runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest())

    ids = [item.id for item in response.items]
    assert population.web.id in ids
    assert sorted(ids) == sorted(set(ids))


@requirement("SBA-25")
def test_sandbox_that_is_listed_as_ready_can_be_used(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """ListPodSandbox SHOULD report a sandbox as ready only once it has a status and its IP address.

    Source: PodSandbox.state.
    """
    config = sandboxes.marked_config()
    call = runtime.stub.RunPodSandbox.future(sandboxes.creation(config))

    def look() -> list[cri.PodSandbox]:
        if call.done():
            # without a sandbox there is nothing to judge
            with setting_up():
                call.result()
        return [item for item in sandboxes.created_from(config) if item.state == cri.SANDBOX_READY]

    ready = runtime.eventually("the sandbox to be listed as ready", look, seconds=30)[0]
    early = runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=ready.id)).status

    sandbox = sandboxes.adopt(call.result().pod_sandbox_id, config)
    assert early.state == cri.SANDBOX_READY
    assert early.network.ip == sandbox.status().network.ip
