import dataclasses
import io
import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from critests.catalogue.words import Outcome
from critests.record.comparison_questions import QUESTIONS
from critests.record.identity import RuntimeIdentity
from critests.record.run_record import RunScope
from critests.report.comparison import (
    CompareSettings,
    RunComparison,
    compare_records,
    compare_sides,
    comparison_to_json,
)
from critests.report.comparison.comparison_markdown import comparison_to_markdown
from critests.report.comparison.comparison_terminal import print_comparison
from critests.report.comparison.html import comparison_to_html
from critests.report.comparison.wording import amount, percent
from critests.report.terminal.console import new_console
from critests.report.wording.quantities import read_amount, read_share
from tests.report.comparison.sample_measured import MACHINE, record, samples
from tests.report.comparison.sample_runs import changed, clean_tests, rejudged, run_a, run_b
from tests.report.pages import FORBIDDEN, Page, is_inert
from tests.report.sample_run import HOSTILE

BOTH_HALVES = ("B-06 RunPodSandbox", "slower", "80 of 240", " fails", "STP-02", "AppArmor", "kernel")


def in_a_terminal(comparison: RunComparison, width: int | None = None) -> str:
    out = io.StringIO()
    print_comparison(comparison, new_console(out, width=width), details=True)
    return out.getvalue()


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


def test_the_page_shows_both_halves_and_is_inert(comparison: RunComparison) -> None:
    page = Page(comparison_to_html(comparison))

    is_inert(page)
    for part in (*BOTH_HALVES, "Variants where the API", "<script>alert"):
        assert part in page.text


def test_markdown_shows_both_halves_and_is_inert(comparison: RunComparison) -> None:
    text = comparison_to_markdown(comparison)

    assert "<" not in re.sub("</?(details|summary)>", "", text)
    assert not FORBIDDEN.search(text)
    for part in (*BOTH_HALVES, "**slower**"):
        assert part in text.replace("\\", "")
    for section in text.split("### "):
        rows = [line for line in section.splitlines() if line.startswith("| ")]
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) <= 1, section


def test_the_terminal_shows_both_halves_and_no_escape_sequences(comparison: RunComparison) -> None:
    text = in_a_terminal(comparison)

    assert not FORBIDDEN.search(text)
    assert max(map(len, text.splitlines())) <= 140
    for part in (*BOTH_HALVES, "fails (1)", "EXS-01"):
        assert part in " ".join(text.split())


def test_a_comparison_fits_eighty_columns() -> None:
    both = samples(side="a", blocks=40) + samples({"RunPodSandbox": 1.4}, side="b", blocks=40, seed=2)

    lines = in_a_terminal(compare_sides(record(both), both), 80).splitlines()

    assert max(map(len, lines)) <= 80
    assert "speed, memory and CPU time: not measured" in lines
    (place,) = [at for at, line in enumerate(lines) if line == "B-06 RunPodSandbox: slower"]
    assert re.search(r"\d ms +\d+ ms +1\.\d\d +1\.\d\d to 1\.\d\d", lines[place + 1])


def test_a_live_comparison_says_how_it_was_measured() -> None:
    both = samples(side="a", blocks=40) + samples(side="b", blocks=40, seed=2)

    text = " ".join(in_a_terminal(compare_sides(record(both), both)).split())

    assert "measured in interleaved random blocks" in text
    assert text.endswith("No difference between the two sides is proven.")


def test_json_has_its_documented_shape(comparison: RunComparison) -> None:
    data = json.loads(comparison_to_json(comparison))

    assert (data["schema"], data["schema_version"]) == ("critests.comparison", 1)
    assert set(data) == {
        "schema",
        "schema_version",
        "headline",
        "table",
        "counts",
        *(each.name for each in fields(RunComparison)),
    }
    assert [row["question"] for row in data["table"]][: len(QUESTIONS)] == [each.title for each in QUESTIONS]
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
        with pytest.raises(ValueError, match=r"expected e\.g\."):
            read_amount(wrong)
    with pytest.raises(ValueError, match="not a share"):
        read_share("5 s")
    assert [percent(share) for share in (0.995, 0.1, 0.005, 0.333333, 0)] == [
        "99.5 %",
        "10 %",
        "0.5 %",
        "33.3 %",
        "0 %",
    ]


def test_every_format_states_the_scope_of_a_partial_run(tmp_path: Path) -> None:
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
