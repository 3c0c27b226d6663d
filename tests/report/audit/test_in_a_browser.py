"""The page of an audit as a browser shows it, wide and narrow, light and dark."""

import dataclasses

import pytest

from critests.report.audit.page import audit_to_html
from tests.report.audit.sample_audit import AUDIT, NOTICED, SURVIVED
from tests.report.browser import CHROMIUM, SHAPES, Tab, faults, height

pytestmark = [
    pytest.mark.nightly("needs a browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
]
LONG = "config.linux.security_context.namespace_options.userns_options.gids[].host_id"
RPCS = 30
TALLEST = {1280: 2500, 390: 3500}
"""Pixels of a page with faults of so many RPCs, five of which survived; by the width of the window."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    long = dataclasses.replace(
        SURVIVED, fault=f"CreateContainer.request.{LONG}:mistaken", says=f"takes {LONG} for another value"
    )
    noticed = [
        dataclasses.replace(NOTICED, fault=f"Call{number}:hangs", rpc=f"StreamPodSandboxMetrics{number}")
        for number in range(RPCS)
    ]
    path = tmp_path_factory.mktemp("page") / "audit.html"
    path.write_text(audit_to_html(dataclasses.replace(AUDIT, faults=[*AUDIT.faults, *[long] * 4, *noticed])))
    return path.as_uri()


@pytest.mark.parametrize(("width", "dark"), SHAPES)
def test_the_headline_is_on_the_first_screen_and_nothing_is_cut_off(
    tab: Tab, page: str, width: int, dark: bool
) -> None:
    assert faults(tab, page, width, dark=dark) == {}
    tab.open_all()
    assert tab.value("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("width", "tallest"), TALLEST.items())
def test_the_page_can_be_looked_over_and_no_table_needs_scrolling_sideways(
    tab: Tab, page: str, width: int, tallest: int
) -> None:
    tab.open(page, width=width)

    assert height(tab) < tallest
    tab.open_all()
    reach = tab.value("[...document.querySelectorAll('.scroll')].map((e) => [e.scrollWidth, e.clientWidth])")
    assert len(reach) == 2
    assert all(inside <= shown for inside, shown in reach)
