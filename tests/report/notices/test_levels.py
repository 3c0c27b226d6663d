import json
import random
import re
from pathlib import Path

import pytest

from critests.report.notices.levels import LevelNotice, Moved, level_notice_of, level_notice_to_json
from critests.report.store import Index, Point, RunEntry, Series
from tests.report.dashboard.synthetic import DAY, NOW
from tests.report.sample_run import HOSTILE


def noise(count: int, level: float = 0.2, seed: int = 5) -> list[float]:
    source = random.Random(seed)  # noqa: S311 - a repeatable sequence is wanted
    return [level * source.lognormvariate(0, 0.03) for _ in range(count)]


def after(folder: Path, *medians: float, better: str = "lower", operation: str = "pod cycle") -> LevelNotice:
    """Return the notice of the last of several benchmark runs, each with a median of one series."""
    with Index(folder / "index.sqlite") as index:
        series = Series(
            number=0,
            scenario="B-11",
            operation=operation,
            dimensions={"containers": "10"},
            unit="s",
            better=better,
            headline=True,
        )
        key = index.add_series(series)
        for night, median in enumerate(medians):
            entry = RunEntry(
                number=0,
                path=f"containerd/2.1.0/{night:03}",
                kind="benchmark",
                run_id=str(night),
                runtime="containerd",
                version="2.1.0",
                started=NOW + night * DAY,
                finished=NOW + night * DAY + 60,
            )
            index.add_points([(key, Point(index.add_entry(entry), 1000, median))])
        return level_notice_of(index, index.runs()[0])


def told(folder: Path, medians: list[float]) -> list[int]:
    """Return how many nights of the new level there were whenever a notice was sent."""
    found = []
    for count in range(2, len(medians) + 1):
        place = folder / str(count)
        place.mkdir()
        if after(place, *medians[:count]).worth_sending:
            found.append(count)
    return found


def test_a_change_is_told_once_by_the_run_that_proves_it(tmp_path: Path) -> None:
    nights = told(tmp_path, noise(15) + noise(15, 0.3))

    assert len(nights) == 1
    assert 21 <= nights[0] <= 24  # a level has at least five runs, and the next one shows where it began


@pytest.mark.parametrize(
    ("better", "state"), [("lower", Moved.WORSE), ("higher", Moved.BETTER), ("", Moved.CHANGED)]
)
def test_a_change_is_for_better_or_worse(tmp_path: Path, better: str, state: Moved) -> None:
    (change,) = after(tmp_path, *noise(15), *noise(6, 0.3), better=better).changes

    assert change.state is state
    assert change.since.path == "containerd/2.1.0/015"
    size = r"\(\d+ ms, now 3\d\d ms, \+\d+ %\)"
    said = rf"B-11 pod cycle, containers 10 {state.value} {size} since containerd/2.1.0/015"
    assert re.fullmatch(said, change.sentence)


def test_nothing_is_told_of_a_level_that_stays(tmp_path: Path) -> None:
    notice = after(tmp_path, *noise(30))

    assert not notice.worth_sending
    assert notice.summary == "containerd 2.1.0, benchmark: no level changed"


def test_the_document_has_the_shape_of_a_notice_and_is_harmless(tmp_path: Path) -> None:
    notice = after(tmp_path, *noise(15), *noise(6, 0.3), operation=HOSTILE.replace("\udc80", ""))
    document = level_notice_to_json(notice)

    assert (document["schema"], document["schema_version"]) == ("critests.notice", 1)
    assert document["counts"] == {"broken": 0, "fixed": 0, "flaky": 0, "worse": 1, "better": 0, "changed": 0}
    assert document["changes"] == []
    assert set(document["levels"][0]) == {
        *("scenario", "operation", "dimensions", "unit", "state", "before", "now", "since")
    }
    assert document["baseline"]["path"] == "containerd/2.1.0/019"
    assert "\u202e" not in json.dumps(document, ensure_ascii=False)
