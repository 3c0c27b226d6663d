import dataclasses
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from critests.catalogue.words import Outcome
from critests.record.identity import RuntimeIdentity
from critests.record.run import RunScope
from critests.report.comparison import (
    CompareSettings,
    RunComparison,
    compare_records,
    compare_sides,
    comparison_to_json,
)
from critests.report.comparison.html import comparison_to_html
from critests.report.comparison.markdown import comparison_to_markdown
from critests.report.comparison.terminal import print_comparison
from critests.report.comparison.wording import amount, percent, read_amount, read_share
from critests.report.terminal.console import new_console
from tests.report.comparison.sample_measured import MACHINE, record, samples
from tests.report.comparison.sample_runs import changed, clean_tests, rejudged, run_a, run_b
from tests.report.sample_run import HOSTILE

VOID = frozenset({"meta", "input", "br", "link"})


class Page(HTMLParser):
    """Collects tags, attributes and text; refuses tags that do not nest."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(source)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def hostile(folder: Path) -> RunComparison:
    """Compare two runs on one page, with hostile text wherever a runtime can put it."""
    a, b = samples(), samples({"RunPodSandbox": 1.3}, seed=2, fails=lambda index: index % 3 == 2)
    for each in b:
        each.codes = dict.fromkeys(each.codes, "<b>NOT A CODE</b>|")
    runtime = RuntimeIdentity(name=HOSTILE, version="| <i>2</i>", handlers=["", HOSTILE])
    tests = changed(clean_tests(), "STP-02", outcome=Outcome.FAILED, seen=HOSTILE, reason=HOSTILE)
    tests = changed(tests, "EXS-01", form=HOSTILE)
    left = dataclasses.replace(
        run_a(folder), kind="benchmark", operations=record(a).operations, machine=MACHINE
    )
    right = rejudged(
        run_b(folder),
        tests,
        kind="benchmark",
        runtime=runtime,
        operations=record(b).operations,
        machine=MACHINE,
    )
    right = dataclasses.replace(right, machine=MACHINE | {"kernel": HOSTILE})
    return compare_records(left, right, a, b, CompareSettings(unlike_machines=True))


@pytest.fixture
def comparison(tmp_path: Path) -> RunComparison:
    return hostile(tmp_path)


def test_the_page_is_inert_and_needs_nothing_from_elsewhere(comparison: RunComparison) -> None:
    source = comparison_to_html(comparison)
    page = Page(source)

    assert not {"script", "link", "img", "iframe", "i", "object", "form", "base"} & set(page.tags)
    assert not [
        item for item in page.attributes if item[1].startswith("on") or item[1] in {"src", "action", "srcset"}
    ]
    assert {value[0] for _, name, value in page.attributes if name == "href"} == {"#"}
    assert "<script>alert" in page.text
    assert not re.search("[\x00-\x08\x0b\x0e-\x1f\u202e]", source)


def test_every_link_of_the_page_leads_somewhere(comparison: RunComparison) -> None:
    page = Page(comparison_to_html(comparison))

    ids = [value for _, name, value in page.attributes if name == "id"]
    targets = {value.lstrip("#") for _, name, value in page.attributes if name in {"href", "aria-labelledby"}}
    assert len(ids) == len(set(ids))
    assert targets <= set(ids)


def test_the_page_tells_both_stories(comparison: RunComparison) -> None:
    text = Page(comparison_to_html(comparison)).text

    for part in (
        "B-06 RunPodSandbox",
        "slower",
        " breaks",
        "STP-02",
        "AppArmor",
        "Divergences",
        "80 of 240",
        "kernel",
    ):
        assert part in text


def test_markdown_is_inert(comparison: RunComparison) -> None:
    text = comparison_to_markdown(comparison)

    assert "<" not in text.replace("\\<", "")
    assert not re.search("[\x00-\x08\x0b\x0e-\x1f\u202e]", text)
    rows = [line for line in text.splitlines() if line.startswith(("| B-", "| **B-"))]
    assert len(rows) == 6
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {9}
    assert "**slower**" in text
    assert "80 of 240 failed" in text


def test_the_terminal_shows_both_halves_without_escapes(comparison: RunComparison) -> None:
    out = io.StringIO()
    print_comparison(comparison, new_console(out))

    text = out.getvalue()
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 140
    for part in (
        "Speed",
        "slower",
        "80 of 240 failed",
        " breaks (1)",
        "EXS-01",
        "AppArmor",
        "Machines",
    ):
        assert part in " ".join(text.split())


def test_a_comparison_fits_eighty_columns() -> None:
    both = samples(side="a", blocks=40) + samples({"RunPodSandbox": 1.4}, side="b", blocks=40, seed=2)
    out = io.StringIO()

    print_comparison(compare_sides(record(both), both), new_console(out, width=80))

    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    (place,) = [at for at, line in enumerate(lines) if line == "B-06 RunPodSandbox: slower"]
    assert re.search(r"\d ms +\d+ ms +1\.\d\d +1\.\d\d to 1\.\d\d", lines[place + 1])


def test_a_live_comparison_says_how_it_was_measured() -> None:
    both = samples(side="a", blocks=40) + samples(side="b", blocks=40, seed=2)
    out = io.StringIO()

    print_comparison(compare_sides(record(both), both), new_console(out))

    text = " ".join(out.getvalue().split())
    assert "measured in interleaved random blocks" in text
    assert "No difference is proven in RunPodSandbox" in text
    assert "No call failed on either side" in text


def test_json_has_its_documented_shape(comparison: RunComparison) -> None:
    data = json.loads(comparison_to_json(comparison))

    assert (data["schema"], data["schema_version"]) == ("critests.comparison", 1)
    assert set(data) == {
        *(
            "schema",
            "schema_version",
            "counts",
            "a",
            "b",
            "live",
            "settings",
            "machines",
            "speed",
            "conformance",
            "tests",
            "notes",
        ),
    }
    assert set(data["speed"]) == {"operations", "only_a", "only_b", "refused"}
    assert set(data["speed"]["operations"][0]) == {
        *(
            "scenario",
            "operation",
            "dimensions",
            "unit",
            "better",
            "headline",
            "quantile",
            "a",
            "b",
            "ratio",
            "low",
            "high",
            "p",
        ),
        *("verdict", "reason", "method", "errors_p", "errors_verdict"),
    }
    assert set(data["speed"]["operations"][0]["a"]) == {
        "value",
        "low",
        "high",
        "count",
        "calls",
        "errors",
        "client_bound",
        "quantiles",
    }
    assert data["counts"]["requirements"]["A keeps, B breaks"] == 1
    assert data["conformance"]["differences"][0]["group"] == "A keeps, B breaks"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0123, "s", "12.3 ms"),
        (1.25, "s", "1.25 s"),
        (0.99999, "s", "1.00 s"),
        (2.5e-5, "s", "25.0 µs"),
        (64e6, "B", "64.0 MB"),
        (1234.5, "1/s", "1,234 /s"),
        (3.0, "1", "3.00"),
        (0.0, "s", "0 s"),
        (None, "s", "·"),
    ],
)
def test_values_are_written_with_three_digits(value: float | None, unit: str, text: str) -> None:
    assert amount(value, unit) == text


def test_shares_and_values_are_read() -> None:
    assert read_share("10%") == pytest.approx(0.1)
    assert read_share(" 0.25 ") == 0.25
    assert read_amount("250 ms") == (0.25, "s")
    assert read_amount("64MiB") == (64 * 2**20, "B")
    assert read_amount("20 /s") == (20, "1/s")
    assert read_amount("3") == (3, "1")
    for wrong in ("", "-1%", "ten", "5 furlongs", "1e3 s", "nan"):
        with pytest.raises(ValueError, match="write"):
            read_amount(wrong)
    with pytest.raises(ValueError, match="no share"):
        read_share("5 s")
    assert [percent(share) for share in (0.995, 0.1, 0.005, 0.333333, 0)] == [
        "99.5 %",
        "10 %",
        "0.5 %",
        "33.3 %",
        "0 %",
    ]


def in_a_terminal(comparison: RunComparison) -> str:
    out = io.StringIO()
    print_comparison(comparison, new_console(out))
    return out.getvalue()


def test_every_form_says_what_a_partial_run_was_about(tmp_path: Path) -> None:
    scope = RunScope(selection="--select IMG", musts_judged=12, musts=300)
    partial = compare_records(run_a(tmp_path, scope=RunScope()), run_b(tmp_path, scope=scope))
    whole = compare_records(run_a(tmp_path, scope=RunScope()), run_b(tmp_path, scope=RunScope()))
    words = "--select IMG; 12 of 300 MUSTs judged"

    for form in (in_a_terminal, comparison_to_markdown, comparison_to_json, comparison_to_html):
        said = " ".join(form(partial).replace("\\", "").split())
        assert words in said, form
        assert words not in form(whole), form
    assert partial.a.scope == "the whole suite"
    assert "| scope |" not in comparison_to_markdown(whole)
