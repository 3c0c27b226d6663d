"""The page of a comparison as a browser shows it, wide and narrow, light and dark."""

import re
from collections.abc import Iterator

import pytest

from critests.report.comparison import comparison_to_html
from tests.report.browser import CHROMIUM, CONTRAST, CUT_OFF, SCREEN, SHAPES, Tab, browser
from tests.report.comparison.test_headline import live, measured

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    typical = {
        "pod cycle": (1.0, 0.85),
        "CreateContainer": (0.020, 0.130),
        "Version": (0.0004, 0.00045),
        **{f"RPC{number}": (0.01, 0.01) for number in range(12)},
    }
    path = tmp_path_factory.mktemp("page") / "compare.html"
    path.write_text(comparison_to_html(live(measured(typical), {"OCI runtime": "crun 1.14"})))
    return path.as_uri()


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.mark.parametrize(("width", "dark"), SHAPES)
def test_the_headline_is_on_the_first_screen_and_nothing_is_cut_off(
    tab: Tab, page: str, width: int, dark: bool
) -> None:
    tab.open(page, width=width, dark=dark)

    assert tab.value("document.querySelector('#headline').getBoundingClientRect().bottom") < SCREEN
    said = tab.value("document.querySelector('#headline').innerText")
    assert re.search(r"CRI-O 1\.36 takes 1\d % \(1\d to 1\d %\) less time for pod cycle", said)
    assert tab.value("document.documentElement.scrollWidth") <= width
    assert tab.value(CUT_OFF) == []
    assert tab.value(CONTRAST) == []
    assert tab.complaints() == []


@pytest.mark.parametrize("width", [1280, 390])
def test_the_table_needs_no_scrolling_sideways(tab: Tab, page: str, width: int) -> None:
    tab.open(page, width=width)

    reach = tab.value("[...document.querySelectorAll('.speed')].map((e) => [e.scrollWidth, e.clientWidth])")
    assert all(inside <= shown for inside, shown in reach)


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
