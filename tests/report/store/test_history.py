import pytest

from critests.report.store import RunEntry
from critests.report.store.history import RECENT, bands, changes, columns, histories, shown, state
from tests.report.store.small_run import entry

NOW = 1_795_180_000.0
DAY = 86_400.0


def nights(count: int, letters: str = "P") -> list[RunEntry]:
    return [entry(NOW - night * DAY, letters=letters) for night in range(count)]


def test_the_newest_runs_have_a_column_each_and_older_ones_share_one_by_week() -> None:
    found = columns(nights(365))

    assert [column.week for column in found[:RECENT]] == [False] * RECENT
    assert all(column.week for column in found[RECENT:])
    assert 47 <= len(found) - RECENT <= 49
    assert (found[0].label, found[29].label) == ("2026-11-20 13:06", "2026-10-22 13:06")
    assert [(column.first, column.last) for column in found[:2]] == [(0, 1), (1, 2)]
    places = [place for column in found for place in range(column.first, column.last)]
    assert places == list(range(365)), "every run is in one column"


def test_runs_are_labelled_by_their_time_also_where_several_are_of_one_day() -> None:
    runs = nights(2)
    again = [runs[0], RunEntry(**{**vars(runs[0]), "started": NOW - 600})]

    assert [column.label for column in columns(again)] == ["2026-11-20 13:06", "2026-11-20 12:56"]


def test_a_week_shows_its_worst_verdict() -> None:
    wanted = columns(nights(45))
    history = "P" * 33 + "F" + "P" * 11

    assert shown(history, wanted)[:RECENT] == "P" * RECENT
    assert shown(history, wanted).count("F") == 1
    assert set(shown("K" * 45, wanted)) == {"K"}


def test_histories_are_columns_of_the_runs_letters() -> None:
    runs = nights(2)
    runs = [
        RunEntry(**{**vars(run), "letters": letters}) for run, letters in zip(runs, ("PF", "K"), strict=True)
    ]

    assert histories(runs, 3) == ["PK", "F.", ".."]
    assert histories([], 2) == ["", ""]


@pytest.mark.parametrize(
    ("history", "letter", "since", "runs", "before", "changed"),
    [
        ("PPPP", "P", 3, 4, "", 0),
        ("FFPP", "F", 1, 2, "P", 1),
        ("F.FP", "F", 2, 2, "P", 1),
        ("FBFP", "F", 2, 2, "P", 1),
        (".FFP", "F", 2, 2, "P", 1),
        ("KFFP", "K", 2, 3, "P", 2),
        ("PFPP", "P", 0, 1, "F", 2),
        ("UUPP", "U", 1, 2, "P", 0),
        ("BPPF", "B", 0, 1, "P", 1),
        ("....", ".", 0, 0, "", 0),
        ("", ".", 0, 0, "", 0),
    ],
)
def test_the_state_of_a_history(
    history: str, letter: str, since: int, runs: int, before: str, changed: int
) -> None:
    found = state(history)

    assert (found.letter, found.since, found.runs, found.before, found.changes) == (
        letter,
        since,
        runs,
        before,
        changed,
    )


def test_only_changes_among_the_recent_runs_count() -> None:
    assert state("P" * RECENT + "FPFPFP").changes == 0
    assert changes("PFBUPE.P") == 2


def test_a_change_with_the_version_does_not_count() -> None:
    assert changes("FPFP", ["2", "2", "1", "1"]) == 2
    assert state("FPPP", ["2", "1", "1", "1"]).changes == 0
    assert state("FPPP", ["2", "1", "1", "1"]).before == "P"


def test_bands_cover_every_column() -> None:
    assert list(bands("PPF.KK")) == [("P", 0, 2), ("F", 2, 3), (".", 3, 4), ("K", 4, 6)]
