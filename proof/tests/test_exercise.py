"""A recording of the suite: coverage, and the tests to try for a fault."""

import contextlib
from pathlib import Path

import pytest
from critests_proof.derived import DerivedFault, Reach, derived_faults
from critests_proof.language.faults import parse_fault
from critests_proof.matrix import Matrix, MatrixEntry
from critests_proof.oci_faults import faults_below
from critests_proof.proxy.fault_proxy import FaultProxy
from critests_proof.sweep.candidates import Candidates, first
from critests_proof.sweep.equivalents import Equivalent
from critests_proof.sweep.exercise import Exercise, Exercised, coverage
from critests_proof.sweep.offered import absent
from critests_proof.sweep.untried import untried

from critests.client.connection import connect
from critests.client.endpoint import Endpoint
from tests.criserver import CriServer, serve

FAULTS = {fault.id: fault for fault in derived_faults()}
TIMEOUT = FAULTS["StopContainer.request.timeout:ignored"]
PLACE = "StopContainer.request.timeout"


def made_test(
    name: str, *places: str, seconds: float = 1, outcome: str = "passed", judges: str = ""
) -> Exercised:
    return Exercised(name, outcome, seconds, frozenset(places), judges)


def exercise(*tests: Exercised) -> Exercise:
    made = Exercise("containerd 2.1")
    for one in tests:
        made.add(one)
    return made


def names(candidates: Candidates, fault: DerivedFault = TIMEOUT) -> list[str]:
    return [one.test for one in candidates.for_fault(fault)]


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = exercise(
        made_test("a", PLACE, "Version", judges="STP-01"), made_test("b[x]", "Version", outcome="failed")
    )
    made.absent = frozenset({"RestorePod"})
    made.save(tmp_path / "exercise.json")
    assert Exercise.load(tmp_path / "exercise.json", "containerd 2.1") == made


def test_of_another_runtime_nothing_is_known(tmp_path: Path) -> None:
    exercise(made_test("a", PLACE)).save(tmp_path / "exercise.json")
    assert not Exercise.load(tmp_path / "exercise.json", "containerd 2.2").tests
    assert not Exercise.load(tmp_path / "nowhere.json", "containerd 2.1").tests
    (tmp_path / "exercise.json").write_text("{", encoding="utf-8")
    assert not Exercise.load(tmp_path / "exercise.json", "containerd 2.1").tests


def test_coverage_counts_every_field_once() -> None:
    made = exercise(made_test("a", PLACE, "StopContainer"), made_test("b", PLACE))
    covered = coverage(made, "request", ["StopContainer"])
    assert covered.fields == ("StopContainer.request.container_id", "StopContainer.request.timeout")
    assert covered.seen == (PLACE,)
    assert covered.missing == ("StopContainer.request.container_id",)


def test_what_a_runtime_never_fills_is_known_only_where_tests_asked() -> None:
    fault = FAULTS["ContainerStatus.response.status.message:missing"]
    assert exercise(made_test("a", "ContainerStatus")).never_filled(fault) == ""
    asked = exercise(made_test("a", "ContainerStatus", "ContainerStatus.response"))
    assert asked.never_filled(fault) == "never filled in what ContainerStatus answered to 1 tests"
    filled = exercise(made_test("a", "ContainerStatus.response", "ContainerStatus.response.status.message"))
    assert filled.never_filled(fault) == ""
    assert asked.never_filled(TIMEOUT) == ""


def test_an_rpc_that_only_failed_may_not_be_there() -> None:
    made = exercise(made_test("a", "Version", "Version.response"), made_test("b", "Status", "Status.error"))
    assert "Status" in made.never_answered()
    assert "StopContainer" in made.never_answered()
    assert "Version" not in made.never_answered()


def test_a_number_can_be_wrong_wherever_the_message_is_that_holds_it() -> None:
    fault = FAULTS["ContainerStatus.response.status.exit_code:wrong"]
    assert exercise(made_test("a", "ContainerStatus.response.status")).reaching(fault.reach)


def test_a_figure_of_nothing_cannot_be_a_thousand_times_too_high() -> None:
    fault = FAULTS["ContainerStats.response.stats.memory.page_faults.value:wrong"]
    place = "ContainerStats.response.stats.memory.page_faults"
    assert not exercise(made_test("a", place)).reaching(fault.reach)
    assert exercise(made_test("a", place, f"{place}.value")).reaching(fault.reach)


def test_of_a_call_as_a_whole_it_matters_what_is_done_to_it() -> None:
    fault = FAULTS["StopContainer:late"]
    made = exercise(
        made_test("swallowed", "StopContainer", seconds=2),
        made_test("other", "StopContainer"),
        made_test("judges", "StopContainer", seconds=3, judges="GEN-19"),
        made_test("exactly", "StopContainer", seconds=4),
    )
    matrix = Matrix(
        (
            MatrixEntry("a", (parse_fault("StopContainer: swallow"),), "", ("swallowed",)),
            MatrixEntry("b", (parse_fault("StopContainer: delay-answer 9s"),), "", ("exactly",)),
            MatrixEntry("c", (parse_fault("ExecSync: delay-answer 9s"),), "", ("other",)),
        )
    )
    assert names(Candidates(made, matrix), fault) == ["exactly", "judges", "swallowed", "other"]


def test_the_likeliest_tests_come_first_then_the_quickest() -> None:
    made = exercise(
        made_test("slow", PLACE, seconds=3),
        made_test("quick", PLACE, seconds=1),
        made_test("same_rpc", PLACE, seconds=9),
        made_test("judges", PLACE, seconds=9, judges="STP-02"),
        made_test("same_name", PLACE, seconds=9),
        made_test("other", PLACE, seconds=9),
        made_test("exactly[one]", PLACE, seconds=9),
        made_test("elsewhere", "Version"),
        made_test("red", PLACE, outcome="failed"),
    )
    matrix = Matrix(
        (
            MatrixEntry("a", (parse_fault("StopContainer: swallow"),), "", ("same_rpc",)),
            MatrixEntry("b", (parse_fault("StopContainer.request.timeout: set 0"),), "", ("exactly",)),
            MatrixEntry("c", (parse_fault("ExecSync.request.timeout: clear"),), "", ("same_name",)),
        )
    )
    candidates = Candidates(made, matrix)
    assert names(candidates) == ["exactly[one]", "judges", "same_name", "same_rpc", "quick", "slow", "other"]
    assert candidates.foreseen(made.tests["exactly[one]"], TIMEOUT)
    assert not candidates.foreseen(made.tests["judges"], TIMEOUT)
    assert not candidates.foreseen(made.tests["quick"], TIMEOUT)
    assert candidates.failing(TIMEOUT) == ["red"]


def test_a_test_that_notices_a_field_is_likely_to_notice_what_the_field_holds() -> None:
    fault = FAULTS["ContainerStatus.response.status.image.image:missing"]
    place = str(fault.reach)
    made = exercise(made_test("other", place), made_test("near", place, seconds=2))
    near = MatrixEntry("a", (parse_fault("ContainerStatus.response.status.image: clear"),), "", ("near",))
    assert names(Candidates(made, Matrix((near,))), fault) == ["near", "other"]


def test_a_test_of_one_field_of_a_message_is_tried_for_its_siblings() -> None:
    fault = FAULTS["ContainerStatus.response.status.metadata.name:wrong"]
    texts = {
        "same_name": "PodSandboxStatus.response.status.metadata.name: clear",
        "same_rpc": "ContainerStatus.response.status.reason: clear",
        "beside": "ContainerStatus.response.status.metadata.attempt: add 1",
    }
    made = exercise(*(made_test(name, str(fault.reach)) for name in texts))
    matrix = Matrix(
        tuple(MatrixEntry(name, (parse_fault(text),), "", (name,)) for name, text in texts.items())
    )
    assert names(Candidates(made, matrix), fault) == ["beside", "same_name", "same_rpc"]


def test_the_case_of_a_field_comes_before_the_others() -> None:
    fault = FAULTS["ListImages.response.images[].uid:missing"]
    place = str(fault.reach)
    made = exercise(made_test("agree[size]", place), made_test("agree[uid]", place, seconds=2))
    size = MatrixEntry("a", (parse_fault("ListImages.response.images[].size: add 1"),), "", ("agree",))
    assert names(Candidates(made, Matrix((size,))), fault) == ["agree[uid]", "agree[size]"]


@pytest.mark.parametrize(
    ("fault_id", "cases"),
    [
        ("GetContainerEvents.CONTAINER_STARTED_EVENT:delayed", ("DELETED", "STARTED")),
        (
            "PodSandboxStats.response.stats.linux.network.default_interface.tx_bytes.value:missing",
            ("rx", "tx"),
        ),
    ],
)
def test_the_case_that_is_named_as_what_a_fault_changes_comes_before_the_others(
    fault_id: str, cases: tuple[str, str]
) -> None:
    fault = FAULTS[fault_id]
    other, named = (f"of[{case}]" for case in cases)
    made = exercise(made_test(other, str(fault.reach)), made_test(named, str(fault.reach), seconds=2))
    known = MatrixEntry("a", fault.faults, "", (other, named))
    assert names(Candidates(made, Matrix((known,))), fault) == [named, other]


def test_another_case_of_a_test_that_looks_there_comes_before_tests_that_only_get_there() -> None:
    fault = FAULTS["ContainerStatus.response.status.image.image:missing"]
    place = str(fault.reach)
    made = exercise(
        made_test("other", place),
        made_test("near[1]", place, seconds=2),
        made_test("near[2]", place, seconds=3),
    )
    near = MatrixEntry("a", (parse_fault("ContainerStatus.response.status.image: clear"),), "", ("near",))
    candidates = Candidates(made, Matrix((near,)))
    assert [one.test for one in candidates.likely(fault, 0)] == ["near[1]", "near[2]", "other"]
    assert [one.test for one in candidates.likely(fault, 2)] == ["near[1]", "other"]


def test_the_case_that_is_said_to_notice_comes_first_and_others_of_it_before_who_looks_near() -> None:
    fault = FAULTS["CreateContainer.request.config.linux.security_context.masked_paths:one-ignored"]
    cases = [
        made_test(f"exactly[{name}]", str(fault.reach), seconds=2) for name in ("directory", "file", "link")
    ]
    made = exercise(*cases, made_test("near", str(fault.reach)), made_test("other", str(fault.reach)))
    field = "CreateContainer.request.config.linux.security_context"
    matrix = Matrix(
        (
            MatrixEntry("a", (parse_fault(f"{field}.masked_paths: clear"),), "", ("exactly[file]",)),
            MatrixEntry("b", (parse_fault(f"{field}: clear"),), "", ("near",)),
        )
    )
    candidates = Candidates(made, matrix)
    assert [one.test for one in candidates.likely(fault, 4)] == [
        "exactly[file]",
        "exactly[directory]",
        "near",
        "other",
    ]


def test_a_long_test_waits_until_the_quick_ones_have_looked_that_are_likely_to_notice() -> None:
    fault = FAULTS["ContainerStatus.response.status.image.image:missing"]
    place = str(fault.reach)
    long = made_test("exactly", place, seconds=12)
    made = exercise(long, made_test("near", place), made_test("far", place))
    field = "ContainerStatus.response.status.image"
    matrix = Matrix(
        (
            MatrixEntry("a", (parse_fault(f"{field}.image: clear"),), "", ("exactly",)),
            MatrixEntry("b", (parse_fault(f"{field}: clear"),), "", ("near",)),
        )
    )
    assert [one.test for one in Candidates(made, matrix).likely(fault, 0)] == ["near", "exactly", "far"]


def test_tests_that_only_get_there_leave_no_place_empty() -> None:
    fault = FAULTS["ContainerStatus.response.status.image.image:missing"]
    place = str(fault.reach)
    names_near = ("near1", "near2", "near3")
    made = exercise(*(made_test(name, place) for name in (*names_near, "other")))
    near = MatrixEntry("a", (parse_fault("ContainerStatus.response.status.image: clear"),), "", names_near)
    candidates = Candidates(made, Matrix((near,)))
    assert [one.test for one in candidates.likely(fault, 3)] == ["near1", "near2", "other"]
    assert [one.test for one in candidates.likely(fault, 4)] == [*names_near, "other"]


@pytest.mark.parametrize(
    ("outcome", "also", "found"),
    [
        ("unsupported", "", ["close"]),
        ("unsupported", "ContainerStatus.response.status.image: clear", []),
        ("failed", "", []),
        ("blocked", "", []),
    ],
    ids=["unsupported", "another one passes", "failed", "blocked"],
)
def test_what_only_unsupported_tests_look_at_is_not_offered(
    outcome: str, also: str, found: list[str]
) -> None:
    fault = FAULTS["ContainerStatus.response.status.image.image:missing"]
    made = exercise(made_test("close", outcome=outcome), made_test("passes", str(fault.reach)))
    entries = [
        MatrixEntry("a", (parse_fault("ContainerStatus.response.status.image: clear"),), "", ("close",))
    ]
    if also:
        entries.append(MatrixEntry("b", (parse_fault(also),), "", ("passes",)))
    assert Candidates(made, Matrix(tuple(entries))).not_offered(fault) == found


def test_who_notices_a_fault_alone_is_closer_than_who_notices_several_at_once() -> None:
    fault = FAULTS["CreateContainer.request.config.mounts[].gidMappings:ignored"]
    lost = [
        f"CreateContainer.request.config.mounts[].{field}: clear" for field in ("uidMappings", "gidMappings")
    ]
    made = exercise(made_test("of_groups", outcome="unsupported"), made_test("of_both", str(fault.reach)))
    entries = [MatrixEntry("a", tuple(map(parse_fault, lost)), "", ("of_both",))]
    assert Candidates(made, Matrix(tuple(entries))).not_offered(fault) == []
    entries.append(MatrixEntry("b", (parse_fault(lost[1]),), "", ("of_groups",)))
    assert Candidates(made, Matrix(tuple(entries))).not_offered(fault) == ["of_groups"]


def test_a_fault_below_is_not_offered_where_who_judges_what_it_breaks_is_unsupported() -> None:
    fault = next(each for each in faults_below() if each.id == "oci-gid-mapping-is-another")
    judges = made_test("judges", outcome="unsupported", judges="UNS-01")
    gets_there = made_test("gets_there", str(fault.reach))
    assert Candidates(exercise(judges, gets_there), Matrix(())).not_offered(fault) == ["judges"]
    passes = made_test("passes", judges="UNS-08")
    assert Candidates(exercise(judges, passes), Matrix(())).not_offered(fault) == []


def test_of_a_fault_below_who_judges_what_it_breaks_is_tried_whatever_is_refused() -> None:
    fault = next(each for each in faults_below() if each.id == "oci-memory-nodes-are-lost")
    made = exercise(
        made_test("refused", "StartContainer", judges="RES-15"),
        made_test("refused too", "StartContainer", judges="CTR-13"),
        made_test("gets there", str(fault.reach)),
    )
    assert names(Candidates(made, Matrix(())), fault) == ["refused", "gets there"]


def test_who_judges_what_a_fault_breaks_first_of_all_comes_first() -> None:
    fault = next(each for each in faults_below() if each.id == "oci-hostname-of-the-pod-is-lost")
    first_broken, last_broken = fault.breaks[0], fault.breaks[-1]
    made = exercise(
        made_test("quick", str(fault.reach), judges=last_broken),
        made_test("slow", str(fault.reach), judges=f"{first_broken}/kernel", seconds=2),
    )
    candidates = Candidates(made, Matrix(()))
    assert names(candidates, fault) == ["slow", "quick"]
    assert [one.test for one in candidates.judging(fault, last_broken, 2)] == ["quick"]


def test_a_fault_in_an_exec_is_tried_on_the_case_of_an_exec() -> None:
    faults = {fault.id: fault for fault in faults_below()}
    views = [
        made_test(f"test_a[{view}]", "StartContainer", judges="USR-01", seconds=seconds)
        for view, seconds in (("first process", 1), ("exec", 2), ("streaming exec", 3))
    ]
    candidates = Candidates(exercise(*views), Matrix(()))
    first_view = {
        part: candidates.likely(faults[f"oci-user-is-another-{part}"], 1)[0].test
        for part in ("first", "exec", "both")
    }

    assert first_view == {
        "first": "test_a[first process]",
        "exec": "test_a[exec]",
        "both": "test_a[first process]",
    }


def test_of_a_test_with_a_case_for_each_field_that_of_the_field_comes_first() -> None:
    fault = FAULTS["ImageStatus.response.image.repo_digests:one-twice"]
    place = str(fault.reach)
    made = exercise(made_test("agree[repo_tags]", place), made_test("agree[repo_digests]", place, seconds=2))
    lost = parse_fault("ImageStatus.response.image.repo_digests: drop-all")
    near = MatrixEntry("a", (lost,), "", ("agree[repo_digests]",))
    assert names(Candidates(made, Matrix((near,))), fault) == ["agree[repo_digests]", "agree[repo_tags]"]


def test_who_asks_whether_a_field_is_set_is_tried_though_unsupported_without_it() -> None:
    fault = FAULTS["Status.response.features.mount_options:wrong"]
    asks = made_test("asks", str(fault.reach), outcome="unsupported")
    made = exercise(asks, made_test("other", str(fault.reach), outcome="unsupported"))
    entry = MatrixEntry(
        "a", (parse_fault("Status.response.features.mount_options: set true"),), "", ("asks",)
    )
    assert names(Candidates(made, Matrix((entry,))), fault) == ["asks"]


def test_one_case_of_each_test_before_any_other() -> None:
    tests = [made_test("a[1]"), made_test("a[2]"), made_test("b"), made_test("a[3]")]
    assert [one.test for one in first(tests, 0)] == ["a[1]", "b", "a[2]", "a[3]"]
    assert [one.test for one in first(tests, 2)] == ["a[1]", "b"]


@pytest.mark.parametrize(
    ("reach", "text"),
    [
        (Reach("Version"), "Version"),
        (Reach("Version", "error"), "Version.error"),
        (Reach("Version", "response"), "Version.response"),
        (Reach("ListImages", "response", "images[].id"), "ListImages.response.images[].id"),
    ],
)
def test_places_are_written_as_they_are_watched(reach: Reach, text: str) -> None:
    assert str(reach) == text


def test_what_need_not_be_tried() -> None:
    made = exercise(
        made_test("a", "Version", "Version.response"),
        made_test("b", PLACE, "StopContainer", outcome="failed"),
    )
    made.absent = frozenset({"RestorePod"})
    candidates = Candidates(made, Matrix(()))
    windows = (Equivalent("*.windows*", "no Linux runtime looks at it"),)

    found = {
        name: untried(FAULTS[name], made, candidates, windows)
        for name in (
            "CreateContainer.request.config.windows:ignored",
            "RestorePod:hangs",
            "Version.response.version:missing",
            "StopContainer.request.timeout:ignored",
            "RemoveContainer:hangs",
            "Version:hangs",
        )
    }

    assert found.pop("Version:hangs") is None
    assert [(result.outcome.value, result.evidence) for result in found.values() if result] == [
        ("equivalent", "no Linux runtime looks at it"),
        ("not offered", "containerd 2.1 has no RestorePod"),
        ("never filled", "never filled in what Version answered to 1 tests"),
        ("not reached", "only tests get there that do not pass without a fault: b"),
        ("not reached", "no test gets to RemoveContainer"),
    ]


def test_which_rpcs_a_runtime_does_not_have() -> None:
    with (
        serve(CriServer()) as behind,
        FaultProxy(behind) as proxy,
        contextlib.closing(connect(Endpoint.parse(proxy.endpoint))) as connection,
    ):
        proxy.faults = ["Version: error UNIMPLEMENTED", "StreamImages: error UNIMPLEMENTED"]
        asked = ("Version", "StreamImages", "Status", "StreamContainers", "StopContainer")
        assert absent(connection, asked) == {"Version", "StreamImages"}
