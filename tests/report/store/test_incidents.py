"""Incidents and flaky requirements in histories of verdicts."""

import pytest

from critests.report.store.incidents import Incident, flaky, incidents, spells_of


def test_requirements_that_break_in_one_run_are_one_incident() -> None:
    """It is over when all of them pass again."""
    found = incidents(spells_of(["PPFFP", "PFFFP", "PPPPP"]))

    assert found == [Incident(places=(0, 1), first=3, last=1, good=4, over=0)]


def test_a_run_that_cannot_judge_does_not_end_an_incident() -> None:
    """It is neither a failure nor a sign that all is well."""
    assert incidents(spells_of(["BFBFUP"])) == [Incident(places=(0,), first=3, last=1, good=5, over=None)]


def test_what_never_passed_and_what_is_known_is_no_incident() -> None:
    """There is no run in which it broke."""
    assert incidents(spells_of(["FFFF", "KKPP", "....", ""])) == []


def test_an_incident_that_returns_says_when_it_was_there_before() -> None:
    """At least half of its requirements broke in the earlier one."""
    newest, middle, oldest = incidents(spells_of(["FPFPP", "FPFPP", "FPFPP", "PPPFP"]))

    assert (newest.earlier, middle.earlier, oldest.earlier) == (2, None, None)


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ("PFPFPFP", True),
        ("FPFPFP", True),
        ("PFPFPPP", False),
        ("PFFFFFFP", False),
        ("PFPPPPPPPPPPFPFP", False),
        ("PWPWPWP", True),
        ("PKPKPKP", False),
    ],
)
def test_flaky_is_what_breaks_three_times_in_ten_runs(history: str, expected: bool) -> None:
    """Fewer spells, or spells long ago, are incidents only."""
    assert flaky(spells_of([history]), incidents(spells_of([history]))) == (
        frozenset({0}) if expected else frozenset()
    )


def test_what_breaks_together_is_not_flaky() -> None:
    """Three that fail in the same nights have one cause."""
    histories = ["PFPFPFP"] * 3

    assert flaky(spells_of(histories), incidents(spells_of(histories))) == frozenset()
