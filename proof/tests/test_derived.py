"""The faults that are derived from the API: that none is forgotten, and what each is."""

from collections import Counter

import pytest
from critests_proof.derived import BELOW, KINDS, derived_faults
from critests_proof.derived.choice import chosen, sample
from critests_proof.language.descriptors import FaultError, rpcs
from critests_proof.language.faults import parse_fault
from critests_proof.oci_faults import all_faults, faults_below

from critests import catalogue

FAULTS = derived_faults()
BY_ID = {fault.id: fault for fault in FAULTS}


def test_there_are_as_many_as_the_api_has_ways_to_break() -> None:
    counts = Counter(fault.kind for fault in FAULTS)
    assert {*counts, *BELOW} == set(KINDS)
    assert counts["request"] + counts["response"] >= 3600
    assert counts["call"] >= 5 * len(rpcs())


def test_faults_below_the_runtime_are_among_all() -> None:
    below = faults_below()
    assert all_faults() == (*FAULTS, *below)
    assert len({fault.id for fault in all_faults()}) == len(all_faults())
    assert all(fault.breaks and fault.kind in BELOW for fault in below)
    bundles = [fault for fault in below if fault.kind == "bundle"]
    both = next(fault for fault in below if fault.id == "oci-user-is-another-both")
    assert [one.text for one in both.faults] == [
        "bundle.process.user.uid: set 4242",
        "exec.user.uid: set 4242",
    ]
    # a request that is refused never gets there
    assert {str(fault.reach) for fault in bundles if fault.id.endswith("-exec")} == {"ExecSync.response"}
    assert str(both.reach) == "StartContainer.response"
    assert {fault.reach.rpc for fault in bundles} == {
        "RunPodSandbox",
        "StartContainer",
        "ExecSync",
        "UpdateContainerResources",
    }


def test_ids_and_texts_are_unique_and_every_text_is_a_fault() -> None:
    assert len(BY_ID) == len({fault.text for fault in FAULTS}) == len(FAULTS)
    for fault in FAULTS:
        assert fault.faults == (parse_fault(fault.text),)


@pytest.mark.parametrize("rpc", rpcs())
def test_every_field_at_the_top_of_a_message_can_be_lost(rpc: str) -> None:
    texts = {fault.text for fault in FAULTS}
    for side, message in (("request", rpcs()[rpc].request), ("response", rpcs()[rpc].response)):
        for field in message.DESCRIPTOR.fields:
            assert f"{rpc}.{side}.{field.name}: clear" in texts


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("RunPodSandbox.request.config.hostname:ignored", "RunPodSandbox.request.config.hostname: clear"),
        (
            "StopContainer.request.timeout:mistaken",
            "StopContainer.request.timeout: add 1 when request.timeout",
        ),
        (
            "CreateContainer.request.config.mounts[].host_path:mistaken",
            "CreateContainer.request.config.mounts[].host_path: change-last",
        ),
        (
            "CreateContainer.request.config.args:one-ignored",
            "CreateContainer.request.config.args: drop-first",
        ),
        (
            "ContainerStatus.response.status.labels:one-missing",
            "ContainerStatus.response.status.labels: drop-first",
        ),
        (
            "ContainerStatus.response.status.labels:wrong",
            "ContainerStatus.response.status.labels[]: change-last",
        ),
        ("ContainerStatus.response.status.state:wrong", "ContainerStatus.response.status.state: next"),
        (
            "ContainerStatus.response.status.exit_code:wrong",
            "ContainerStatus.response.status.exit_code: add 1",
        ),
        (
            "ContainerStatus.response.status.created_at:wrong",
            "ContainerStatus.response.status.created_at: add -3600000000000",
        ),
        (
            "ContainerStats.response.stats.cpu.usage_core_nano_seconds.value:wrong",
            "ContainerStats.response.stats.cpu.usage_core_nano_seconds.value: times 1000",
        ),
        (
            "ImageStatus.response.image.repo_tags:one-twice",
            "ImageStatus.response.image.repo_tags: duplicate-first",
        ),
        ("ListImages:filter-ignored", "ListImages.request.filter: clear"),
        ("RemoveImage:not-idempotent", "RemoveImage: error INTERNAL when repeated"),
        ("StreamImages.message:out-of-order", "StreamImages.response: postpone"),
        ("Exec.stream:drop-stdin", "Exec.stream: drop-stdin"),
        ("log:strip-spaces", "log: strip-spaces"),
    ],
)
def test_what_a_fault_is_follows_from_the_type(name: str, text: str) -> None:
    assert BY_ID[name].text == text


def test_what_creates_may_refuse_a_second_time() -> None:
    assert "CreateContainer:not-idempotent" not in BY_ID
    assert "StopPodSandbox:not-idempotent" in BY_ID


@pytest.mark.parametrize(
    ("name", "requirement"),
    [
        ("StopContainer.request.timeout:ignored", "STP-02"),
        ("RemoveContainer:does-nothing", "CTR-28/removed"),
        ("RemoveContainer:not-idempotent", "GEN-18"),
        ("RemoveContainer:late", "GEN-19"),
        ("log:late", "LOG-15"),
        ("log:remove-with-container", "CTR-33"),
    ],
)
def test_a_fault_breaks_what_the_catalogue_says_of_its_field(name: str, requirement: str) -> None:
    assert requirement in BY_ID[name].breaks


def test_a_fault_of_a_log_breaks_a_requirement_about_logs() -> None:
    broken = {name: fault.breaks for name, fault in BY_ID.items() if fault.kind == "log"}

    assert len(broken) > 30
    for name, (requirement,) in broken.items():
        assert "log" in f"{catalogue.requirement(requirement).title} {requirement}".lower(), name


def test_a_vague_name_breaks_only_what_names_its_holder_too() -> None:
    assert len(BY_ID["ContainerStatus.response.status.id:missing"].breaks) < 5


@pytest.mark.parametrize(
    ("word", "fits"),
    [
        ("list", lambda fault: fault.kind == "list"),
        ("StopContainer", lambda fault: fault.reach.rpc == "StopContainer"),
        ("STP-02", lambda fault: "STP-02" in fault.breaks),
        ("ImageStatus.response.image", lambda fault: fault.reach.path.partition(".")[0] == "image"),
    ],
)
def test_faults_are_chosen(word: str, fits: object) -> None:
    assert callable(fits)
    picked = chosen(FAULTS, [word])
    assert picked
    assert all(map(fits, picked))


def test_no_word_selects_all_and_an_unknown_one_is_an_error() -> None:
    assert chosen(FAULTS, []) == FAULTS
    with pytest.raises(FaultError, match="did you mean StopContainer"):
        chosen(FAULTS, ["StopContaine"])
    with pytest.raises(FaultError, match="'StopC'"):
        chosen(FAULTS, ["StopC"])


def test_a_sample_is_the_same_for_the_same_seed_and_in_order() -> None:
    some = sample(FAULTS, 40, 7)
    assert some == sample(FAULTS, 40, 7) != sample(FAULTS, 40, 8)
    assert [fault.id for fault in FAULTS if fault in set(some)] == [fault.id for fault in some]
    assert sample(FAULTS[:3], 40, 7) == FAULTS[:3]


def test_events_are_lost_by_their_kind() -> None:
    condition = "when response.container_event_type==CONTAINER_STOPPED_EVENT"
    lost = BY_ID["GetContainerEvents.CONTAINER_STOPPED_EVENT:lost"]
    assert lost.text == f"GetContainerEvents.response: drop {condition}"
