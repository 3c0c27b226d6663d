import math
import random
from pathlib import Path

import pytest

from critests.report.dashboard.lines import lines
from critests.report.dashboard.series import JUDGED_RUNS, History, newest_change, series_of
from critests.report.store import Index, Point, SeriesSummary
from tests.report.dashboard.synthetic import DAY, NOW
from tests.report.store.small_run import entry


def measured(
    folder: Path, medians: list[float], *, unit: str = "s", better: str = "lower", with_intervals: bool = True
) -> History:
    """The history of a series with these medians, the oldest first."""
    with Index(folder / "index.sqlite") as index:
        dimensions = {"image": "<plain>"}
        key = index.add_series(
            SeriesSummary(
                number=0,
                scenario="B-06",
                operation="pod & cycle",
                dimensions=dimensions,
                unit=unit,
                better=better,
                headline=True,
            )
        )
        for night, median in enumerate(reversed(medians)):
            run = index.add_entry(entry(NOW - night * DAY, kind="benchmark"))
            low, high = (median * 0.9, median * 1.1) if with_intervals else (None, None)
            index.add_points([(key, Point(run, 1000, median, low, high, 0.99, median * 2))])
        (found,) = series_of(index, lines(index)[0])
    return found


def noise(count: int, level: float = 0.2, seed: int = 5) -> list[float]:
    source = random.Random(seed)  # noqa: S311 - a repeatable sequence is wanted
    return [level * source.lognormvariate(0, 0.05) for _ in range(count)]


def test_a_change_of_level_has_its_run_its_size_and_its_direction(tmp_path: Path) -> None:
    found = measured(tmp_path, noise(20) + noise(20, 0.3))

    (change,) = found.changes
    assert change.when == "2026-11-01 13:06"
    assert change.tone == "failed"
    assert change.ratio.startswith("+")
    assert 40 < float(change.ratio.removesuffix(" %")) < 60
    assert newest_change([found]) == (found, change)
    assert len(found.picture.changes) == 1


def test_noise_is_not_a_change(tmp_path: Path) -> None:
    assert measured(tmp_path, noise(60)).changes == []


def test_an_old_change_of_level_is_found_by_week(tmp_path: Path) -> None:
    found = measured(tmp_path, noise(150) + noise(JUDGED_RUNS + 60, 0.3))

    assert len(found.changes) == 1
    assert len(found.picture.changes) == 1


def test_the_better_direction_depends_on_the_series(tmp_path: Path) -> None:
    found = measured(tmp_path, noise(20) + noise(20, 0.3), unit="1/s", better="higher")

    assert [change.tone for change in found.changes] == ["passed"]
    assert found.newest.endswith("/s")


@pytest.mark.parametrize("medians", [[0.2], [0.2, 0.2], [0.0, 0.0, 0.0]])
def test_short_and_flat_series_have_a_picture(tmp_path: Path, medians: list[float]) -> None:
    found = measured(tmp_path, medians, with_intervals=False)

    assert len(found.picture.points) == len(medians)
    assert all(math.isfinite(value) for point in found.picture.points for value in point)
    assert found.interval == ""
