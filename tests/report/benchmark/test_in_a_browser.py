"""The page of a benchmark as a browser shows it, wide and narrow, light and dark."""

from collections.abc import Iterator

import pytest

from critests.report.benchmark.page import benchmark_to_html
from tests.report.browser import CHROMIUM, CONTRAST, CUT_OFF, SCREEN, SHAPES, Tab, browser
from tests.report.sample_benchmark import sample_benchmark

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    record, series = sample_benchmark(sides=True, size=200)
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(benchmark_to_html(record, None, series))
    return path.as_uri()


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.mark.parametrize(("width", "dark"), SHAPES)
def test_the_numbers_are_on_the_first_screen_and_nothing_is_cut_off(
    tab: Tab, page: str, width: int, dark: bool
) -> None:
    tab.open(page, width=width, dark=dark)

    assert tab.value("document.querySelector('.tiles li').getBoundingClientRect().bottom") < SCREEN
    assert tab.value("document.documentElement.scrollWidth") <= width
    assert tab.value(CUT_OFF) == []
    assert tab.value(CONTRAST) == []
    assert tab.complaints() == []


def test_plots_stand_with_the_rows_that_they_show(tab: Tab, page: str) -> None:
    tab.open(page)

    apart = tab.value(
        "[...document.querySelectorAll('figure')].filter((each) => !each.closest('.scenario')"
        ".querySelector('.numbers')).length"
    )
    assert tab.value("document.querySelectorAll('figure').length") > 1
    assert apart == 0
