"""The page of a benchmark as a browser shows it, wide and narrow, light and dark."""

import re
from pathlib import Path

import pytest

from critests.report.benchmark.benchmark_page import benchmark_to_html
from tests.report.browser import CHROMIUM, SHAPES, Tab, faults, height
from tests.report.sample_benchmark import sample_benchmark

pytestmark = [
    pytest.mark.nightly("needs a browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
]

TALLEST = {1280: 7000, 390: 12000}
"""Pixels of a page of a dozen scenarios on one runtime or on two, by the width of the window."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("page"), sides=True)


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of one runtime."""
    return written(tmp_path_factory.mktemp("page"), sides=False)


def written(folder: Path, *, sides: bool) -> str:
    record, series = sample_benchmark(sides=sides, size=200)
    path = folder / "report.html"
    path.write_text(benchmark_to_html(record, None, series))
    return path.as_uri()


@pytest.mark.parametrize(("width", "dark"), SHAPES)
def test_the_numbers_are_on_the_first_screen_and_nothing_is_cut_off(
    tab: Tab, page: str, single: str, width: int, dark: bool
) -> None:
    assert faults(tab, single, width, dark=dark, headline=".tiles li:last-child") == {}
    assert faults(tab, page, width, dark=dark, headline=".tiles li") == {}

    said = tab.value("document.querySelector('.tiles li').innerText")
    assert re.search(r"[\d.]+ m?s containerd 1\.6\s+[\d.]+ to [\d.]+", said)
    assert re.search(r"[\d.]+ m?s containerd 2\.1\s+[\d.]+ to [\d.]+", said)


@pytest.mark.parametrize(("width", "tallest"), TALLEST.items())
def test_the_page_can_be_looked_over_and_opens(
    tab: Tab, page: str, single: str, width: int, tallest: int
) -> None:
    for address in (page, single):
        tab.open(address, width=width)
        assert height(tab) < tallest

    tab.open_all()
    assert tab.value("document.querySelectorAll('figure svg')[0].getClientRects().length") == 1
    assert tab.value("document.documentElement.scrollWidth") <= width
    for said in ("client", "cpu"):
        assert said in tab.value("document.querySelector('#results').innerText"), "on a phone below the rows"


def test_plots_stand_with_the_rows_that_they_show(tab: Tab, page: str) -> None:
    tab.open(page)

    apart = tab.value(
        "[...document.querySelectorAll('figure')].filter((each) => !each.closest('.scenario')"
        ".querySelector('.numbers')).length"
    )
    assert tab.value("document.querySelectorAll('figure').length") > 1
    assert apart == 0
    without = tab.value(
        "[...document.querySelectorAll('.numbers td[data-name=\"min to max\"]')]"
        ".filter((cell) => !cell.querySelector('svg.strip') && cell.innerText.includes(' to ')).length"
    )
    assert without == 0
    assert tab.value("document.querySelectorAll('svg.strip').length") > 20
