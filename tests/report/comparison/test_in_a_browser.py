"""The page of a comparison as a browser shows it, wide and narrow, light and dark."""

import dataclasses
import re

import pytest

from critests.report.comparison import compare_records
from critests.report.comparison.differences import VerdictChange
from critests.report.comparison.html import comparison_to_html
from tests.report.browser import CHROMIUM, SCREEN, SHAPES, Tab, faults, height
from tests.report.comparison.sample_runs import run_a, run_b
from tests.report.comparison.test_answers import live, measured

pytestmark = [
    pytest.mark.nightly("needs a browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
]


OPERATIONS = 40
TALLEST = {1280: 3000, 390: 6000}
"""Pixels of a page of so many operations, half of which differ, and more promises that one side alone keeps
than are shown at once; by the width of the window."""
PASSED_BY_ONE = 30


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    typical = {
        "pod cycle": (1.0, 0.85),
        "CreateContainer": (0.020, 0.130),
        "Version": (0.0004, 0.00045),
        **{f"RPC{number}": (0.01, 0.01 * (1 + number % 2)) for number in range(OPERATIONS - 3)},
    }
    folder = tmp_path_factory.mktemp("page")
    promises = compare_records(run_a(folder), run_b(folder)).conformance
    assert promises is not None
    one = next(each for each in promises.differences if each.group is VerdictChange.ONLY_A_KEEPS)
    more = [dataclasses.replace(one, requirement=f"ZZZ-{number:02d}") for number in range(PASSED_BY_ONE)]
    promises = dataclasses.replace(promises, differences=[*promises.differences, *more])
    comparison = live(measured(typical), {"OCI runtime": "crun 1.14"})
    path = folder / "compare.html"
    path.write_text(comparison_to_html(dataclasses.replace(comparison, conformance=promises)))
    return path.as_uri()


@pytest.mark.parametrize(("width", "dark"), SHAPES)
def test_the_headline_and_the_table_are_first_and_nothing_is_cut_off(
    tab: Tab, page: str, width: int, dark: bool
) -> None:
    assert faults(tab, page, width, dark=dark) == {}
    said = tab.value("document.querySelector('#headline').innerText")
    assert re.search(r"A whole pod cycle: CRI-O 1\.36, 1\d % less time \(1\d to 1\d %\)", said)
    table = tab.value("document.querySelector('#answers').innerText")
    assert "a container is stopped" in table
    assert "not measured" in table


@pytest.mark.parametrize(("width", "tallest"), TALLEST.items())
def test_no_table_needs_scrolling_sideways_and_the_page_can_be_looked_over(
    tab: Tab, page: str, width: int, tallest: int
) -> None:
    tab.open(page, width=width)

    reach = tab.value(
        "[...document.querySelectorAll('.speed, .differ')].map((e) => [e.scrollWidth, e.clientWidth])"
    )
    assert all(inside <= shown for inside, shown in reach)
    assert height(tab) < tallest
    everything = tab.value("document.querySelector('main').textContent")
    assert all(f"ZZZ-{number:02d}" in everything for number in range(PASSED_BY_ONE))
    assert all(f"RPC{number}" in everything for number in range(OPERATIONS - 3))


def test_a_requirement_that_one_side_passes_is_a_line_that_opens(tab: Tab, page: str) -> None:
    tab.open(page, width=390)
    cards = "[...document.querySelectorAll('.findings > details')]"
    shown = "[...document.querySelectorAll('.findings > details[open] > .test')]"

    assert tab.value(f"{cards}.length") > 0
    assert tab.value(f"{shown}.length") == 0
    tab.value(f"{cards}[0].closest('.fold').querySelector('summary').click()")
    tab.value(f"{cards}[0].querySelector('summary').click()")
    assert "containerd 2.1" in tab.value(f"{shown}[0].innerText")


def test_what_else_differs_is_below_the_table(tab: Tab, page: str) -> None:
    tab.open(page, width=1280)

    assert tab.value("document.querySelector('.unfair').getBoundingClientRect().bottom") < 2 * SCREEN
    assert tab.value("document.querySelector('.unfair').innerText").startswith("! Not only the runtimes")


def test_both_distributions_lie_on_one_axis_that_holds_them(tab: Tab, page: str) -> None:
    tab.open(page)

    outside = tab.value(
        """[...document.querySelectorAll('.shape')].filter((svg) => {
          const box = svg.getBoundingClientRect();
          return [...svg.querySelectorAll('line, circle, path')].some((each) => {
            const own = each.getBoundingClientRect();
            return own.left < box.left - 1 || own.right > box.right + 1;
          });
        }).length"""
    )
    assert tab.value("document.querySelectorAll('.shape').length") > 2
    assert outside == 0
