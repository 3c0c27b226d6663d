"""The site as a browser shows it: readable, by keyboard, on a phone, without a script, without the
network.
"""

import re
from pathlib import Path

import pytest

from critests.report.dashboard import Options, build
from critests.report.store import Index
from tests.report.browser import CHROMIUM, SHAPES, Tab, faults, height
from tests.report.dashboard.synthetic import NOW, fill

pytestmark = [
    pytest.mark.nightly("needs a browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
]
TALLEST = {1280: 4000, 390: 7000}
"""Pixels of a page of four runtime versions, by the width of the window; how many of them are red, each with
its list, is a matter of chance that every new requirement changes.
"""
BENCHMARKS = "benchmarks/containerd-1.0.0.html"
PAGES = (
    "index.html",
    "requirements.html",
    "grids/containerd-1.0.0.html",
    BENCHMARKS,
    "requirements/GEN-01.html",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("site")
    with Index(folder / "index.sqlite") as index:
        fill(index, lines=4, nights=90, requirements=900, series=4)
        build(index, folder / "site", Options(now=NOW, run_links="../results/"))
    return (folder / "site").as_uri()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_asks_for_nothing_else_and_the_browser_has_no_complaint(
    tab: Tab, site: str, page: str
) -> None:
    tab.open(f"{site}/{page}")

    assert {address for address in tab.asked_for() if not address.startswith(site)} == set()
    assert tab.complaints() == []
    assert tab.value("getComputedStyle(document.querySelector('.card')).borderRadius") == "12px", (
        "the style sheet is in force"
    )


@pytest.mark.parametrize(("width", "dark"), SHAPES)
@pytest.mark.parametrize("page", PAGES)
def test_the_headline_is_on_the_first_screen_and_nothing_is_cut_off(
    tab: Tab, site: str, page: str, width: int, dark: bool
) -> None:
    assert faults(tab, f"{site}/{page}", width, dark=dark, headline=".head .sentence") == {}


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_looked_over(tab: Tab, site: str, page: str, width: int) -> None:
    tab.open(f"{site}/{page}", width=width)

    assert height(tab) < TALLEST[width]


@pytest.mark.parametrize(("width", "dark"), SHAPES)
def test_of_many_series_the_scenarios_open(tab: Tab, tmp_path: Path, width: int, dark: bool) -> None:
    with Index(tmp_path / "index.sqlite") as index:
        fill(index, lines=1, nights=6, requirements=5, series=40)
        build(index, tmp_path / "site", Options(now=NOW))
    page = f"{(tmp_path / 'site').as_uri()}/{BENCHMARKS}"

    assert faults(tab, page, width, dark=dark, headline=".head .sentence") == {}
    assert height(tab) < TALLEST[width]
    assert tab.value("document.querySelectorAll('#series .chart svg').length") == 40
    # a link from the table of changes leads into what is closed
    tab.value("location.hash = document.querySelector('#series .chart').id")
    assert tab.value("document.querySelector('#series details').open")


@pytest.mark.parametrize("page", [BENCHMARKS, "requirements.html"])
def test_no_table_of_promises_or_of_changes_needs_scrolling_sideways_on_a_phone(
    tab: Tab, site: str, page: str
) -> None:
    tab.open(f"{site}/{page}", width=390)
    tab.open_all()

    reach = tab.value(
        "[...document.querySelectorAll('.pairs, .promises')].map((e) => e.getBoundingClientRect().right)"
    )
    assert reach
    assert max(reach) <= 390


def test_the_first_sentence_has_the_result(tab: Tab, site: str) -> None:
    said = "document.querySelector('.head').innerText"
    tab.open(f"{site}/index.html")
    assert re.search(r"\d of 4 runtime versions breaks? requirements: ", tab.value(said))

    tab.open(f"{site}/requirements/GEN-01.html")
    assert "that could be judged" in tab.value(said)


@pytest.mark.parametrize(("width", "dark"), SHAPES)
def test_all_areas_of_a_runtime_are_seen_without_scrolling(
    tab: Tab, site: str, width: int, dark: bool
) -> None:
    tab.open(f"{site}/index.html", width=width, dark=dark)

    right = tab.value(
        "Math.max(...[...document.querySelectorAll('.overview td.area')]"
        ".map((each) => each.getBoundingClientRect().right))"
    )
    assert right <= width
    assert tab.value("document.querySelector('.overview').closest('.scroll').scrollWidth") <= width


def visible_rows(tab: Tab) -> int:
    return int(
        tab.value(
            "[...document.querySelectorAll('tr.q')].filter((row) => row.getClientRects().length).length"
        )
    )


def test_rows_are_chosen_by_keyboard_and_without_a_script(tab: Tab, site: str) -> None:
    tab.open(f"{site}/grids/containerd-1.0.0.html", scripts=False)
    deviating = visible_rows(tab)

    tab.value("document.querySelector('#show-dev').focus()")
    tab.press("ArrowLeft", 37)

    assert tab.value("document.activeElement.id") == "show-all"
    assert tab.value("document.querySelector('#find').hidden") is True
    assert 0 < deviating < visible_rows(tab) == tab.value("document.querySelectorAll('tr.q').length")


def test_the_filter_finds_rows_by_words(tab: Tab, site: str) -> None:
    tab.open(f"{site}/grids/containerd-1.0.0.html")

    tab.value("document.querySelector('#show-all').click()")
    tab.value("(find.value = 'gen-0', find.dispatchEvent(new Event('input')), 1)")

    assert visible_rows(tab) == 9


def test_the_first_stop_of_the_keyboard_leads_to_the_content(tab: Tab, site: str) -> None:
    tab.open(f"{site}/index.html")

    tab.press("Tab", 9)

    assert tab.value("document.activeElement.getAttribute('href')") == "#main"


def test_a_grid_of_everything_is_interactive_within_a_second(tab: Tab, site: str) -> None:
    """In processor time of the page: this machine may be busy with something else."""
    tab.call("Performance.enable", timeDomain="threadTicks")

    def spent() -> float:
        metrics = {each["name"]: each["value"] for each in tab.call("Performance.getMetrics")["metrics"]}
        return float(metrics["TaskDuration"])

    tab.open("about:blank")
    before = spent()
    tab.open(f"{site}/grids/containerd-1.0.0.html")
    tab.value("document.body.offsetHeight")

    took = spent() - before
    assert 0 < took < 5  # a third of a second of processor time, in a browser that shares it with others
