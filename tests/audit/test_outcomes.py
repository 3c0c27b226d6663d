"""What became of faults, counted and told."""

import pytest

from critests.audit.derived import derived_faults
from critests.audit.equivalents import Equivalent, equivalents, why_equivalent
from critests.audit.outcomes import FaultOutcome, FaultResult, Score, Tried, lines, scores

STOP, VERSION = (
    next(fault for fault in derived_faults() if fault.id == name)
    for name in ("StopContainer:hangs", "Version.response.version:wrong")
)
NOTICED = FaultResult.of(
    STOP, FaultOutcome.NOTICED, by="test_a", tried=(Tried("test_a", "failed", 1),), seconds=3.0
)
SURVIVED = FaultResult.of(
    VERSION,
    FaultOutcome.SURVIVED,
    tried=(Tried("test_b", "passed", 2), Tried("test_c", "blocked", 0)),
    candidates=5,
    seconds=1.0,
)
LOST = FaultResult.of(VERSION, FaultOutcome.NOT_REACHED, evidence="no test gets to Version")
FILLED = FaultResult.of(VERSION, FaultOutcome.NEVER_FILLED, evidence="never filled in what Version answered")
ABSENT = FaultResult.of(VERSION, FaultOutcome.NOT_OFFERED)
SAME = FaultResult.of(VERSION, FaultOutcome.EQUIVALENT)


def test_a_result_is_read_as_it_was_written() -> None:
    assert FaultResult.from_json(SURVIVED.to_json()) == SURVIVED


def test_what_is_not_reached_counts_but_not_what_nobody_could_notice() -> None:
    score = Score.of([NOTICED, SURVIVED, LOST, LOST, FILLED, ABSENT, SAME])
    assert score.of_reached == 0.5
    assert score.of_all == 0.25
    assert Score.of([FILLED]).of_reached is None


def test_scores_by_area_and_rpc() -> None:
    results = [NOTICED, SURVIVED]
    assert {name: score.noticed for name, score in scores(results, "area").items()} == {
        "containers": 1,
        "runtime": 0,
    }
    assert list(scores(results, "rpc")) == ["StopContainer", "Version"]


def test_the_survivors_come_first_with_the_tests_that_looked() -> None:
    told = lines([NOTICED, LOST, SURVIVED])
    assert told[0] == (
        "survived: Version.response.version:wrong (Version.response.version: change-last) in test_b (passed);"
        " 3 more get there"
    )
    assert told[1] == "not reached: Version.response.version:wrong: no test gets to Version"
    assert told[-2] == "2.0 s for each fault that was tried"
    assert told[-1].startswith("all 3: 1 noticed, 1 survived (50 % of those reached); 1 not reached (33 %")


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("CreateContainer.request.config.windows.resources:ignored", "Windows"),
        ("RestorePod.request.container_configs[].windows.resources.cpu_count:ignored", "Windows"),
        ("CreateContainer.request.config.linux.resources:ignored", ""),
        ("ContainerStats.response.stats.windows:missing", ""),
    ],
)
def test_what_is_asked_of_windows_is_ignored_by_right(fault: str, why: str) -> None:
    found = why_equivalent(fault, equivalents())
    assert (why in found) if why else not found


def test_the_brackets_of_lists_are_no_pattern() -> None:
    known = (Equivalent("A.response.b[].c:*", "so"),)
    assert why_equivalent("A.response.b[].c:wrong", known) == "so"
    assert why_equivalent("A.response.b[].d:wrong", known) == ""


def test_every_equivalent_means_some_fault() -> None:
    for one in equivalents():
        assert any(why_equivalent(fault.id, (one,)) for fault in derived_faults()), one
