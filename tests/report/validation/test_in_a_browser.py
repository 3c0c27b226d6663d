"""The page of a run as a browser shows it, wide and narrow, light and dark."""

import dataclasses

import pytest

from critests.catalogue.words import Outcome
from critests.report.validation.validation_page import validation_to_html
from tests.report.browser import CHROMIUM, SCREEN, SHAPES, Tab, faults, height
from tests.report.sample_run import sample_run, write_evidence

pytestmark = [
    pytest.mark.nightly("needs a browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
]
BROKEN = 28
"""Requirements that the run finds broken."""
TALLEST = 4000
"""Pixels of a page of so many, its cards closed."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("page")
    record = sample_run(folder)
    write_evidence(record, folder)
    for calls in folder.rglob("calls.jsonl"):
        calls.write_text(calls.read_text().replace("INTERNAL", "FAILED_PRECONDITION"))
    known = {test.requirement_id for test in record.tests}
    one = next(test for test in record.tests if test.outcome is Outcome.FAILED and test.evidence)
    failed = {test.requirement_id for test in record.tests if test.outcome is Outcome.FAILED}
    free = (f"NET-{number:02d}" for number in range(2, 90) if f"NET-{number:02d}" not in known)
    more = [
        dataclasses.replace(one, id=f"{name}.py::t", requirement=name, requirement_id=name, cause="")
        for name, _ in zip(free, range(BROKEN - len(failed)), strict=False)
    ]
    path = folder / "report.html"
    whole = dataclasses.replace(record, exit_code=1, tests=[*record.tests, *more])
    path.write_text(validation_to_html(whole, folder))
    return path.as_uri()


def opened(tab: Tab) -> list[str]:
    """Return the findings whose cards are open."""
    found = tab.value("[...document.querySelectorAll('.findings > details[open] > .test')].map((e) => e.id)")
    return list(found)


@pytest.mark.parametrize(("width", "dark"), SHAPES)
def test_the_verdict_is_on_the_first_screen_and_nothing_is_cut_off(
    tab: Tab, page: str, width: int, dark: bool
) -> None:
    assert faults(tab, page, width, dark=dark) == {}
    assert " MUSTs met, " in tab.value("document.querySelector('#headline').innerText")
    assert tab.value("document.querySelector('.areas').getBoundingClientRect().top") < SCREEN


@pytest.mark.parametrize(("width", "tallest"), [(1280, TALLEST), (390, 2 * TALLEST)])
def test_a_page_has_one_line_per_finding(tab: Tab, page: str, width: int, tallest: int) -> None:
    tab.open(page, width=width)

    assert opened(tab) == []
    lines = "[...document.querySelectorAll('#failures .findings > details > summary')]"
    assert tab.value(f"{lines}.length") == BROKEN + 1  # the last one is the harness's own
    assert height(tab) < tallest


@pytest.mark.parametrize(("width", "dark"), SHAPES)
def test_an_open_card_is_not_cut_off_and_says_nothing_twice(
    tab: Tab, page: str, width: int, dark: bool
) -> None:
    tab.open("about:blank")  # a fragment of the page that is open would not load it again
    assert faults(tab, f"{page}#EXE-01", width, dark=dark, headline="#EXE-01 .name") == {}

    said = tab.value(
        "[...document.querySelector('#EXE-01').closest('details').querySelectorAll("
        "'summary .text, .why, .pair pre, .repeat code')].filter((each) => !each.closest('.also'))"
        ".map((each) => each.innerText.trim())"
    )
    assert len(said) > 2
    assert len(said) == len(set(said))
    ends = tab.value(
        "[...document.querySelectorAll('#EXE-01 .calls .time')].filter((each) => !each.closest('.also'))"
        ".map((each) => each.getBoundingClientRect()).map((box) => [box.left, box.right].join())"
    )
    assert len(set(ends)) == 1, "one line of time for all calls"


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_link_opens_a_card(tab: Tab, page: str, scripts: bool) -> None:
    tab.open("about:blank")
    tab.open(f"{page}#STP-02", scripts=scripts)

    assert opened(tab) == ["STP-02"]
    place = tab.value("document.querySelector('#STP-02').getBoundingClientRect().top")
    assert 0 < place < SCREEN
    assert tab.value("document.querySelector('#STP-02 .calls .time i').getClientRects().length") == 1


def test_keys_go_from_line_to_line_and_open_a_card(tab: Tab, page: str) -> None:
    tab.open("about:blank")
    tab.open(page)
    for key in "jjk":
        tab.press(key, ord(key.upper()))
    assert tab.value("document.activeElement.querySelector('.id').innerText") == "EXE-01"

    tab.press("Enter", 13)

    assert opened(tab) == ["EXE-01"]


def test_the_navigation_fits(tab: Tab, page: str) -> None:
    for width, _ in SHAPES:
        tab.open(page, width=width)
        right = tab.value(
            "Math.max(...[...document.querySelectorAll('nav a')].map((e) => e.getBoundingClientRect().right))"
        )
        assert right <= width
