import dataclasses
import re
from pathlib import Path

import pytest

from critests.record.operations import OperationResult, QuantileEstimate
from critests.record.run_layout import RunFolder
from critests.record.run_record import RunRecord
from critests.record.samples import Series, write_samples
from critests.report.benchmark import benchmark_page
from critests.report.benchmark.benchmark_page import benchmark_to_html
from critests.report.benchmark.benchmark_views import cares, row, scenarios
from critests.report.exports import export
from critests.report.run_kinds import kind_of
from tests.report.pages import Page, is_inert
from tests.report.sample_benchmark import sample_benchmark
from tests.report.sample_run import HOSTILE, sample_run


def stored(folder: Path, record: RunRecord, series: list[Series]) -> Path:
    """Write the samples of a run and return its folder."""
    for scenario in {each.scenario for each in series}:
        write_samples(
            RunFolder(folder).samples, scenario, [each for each in series if each.scenario == scenario]
        )
    del record
    return folder


def small(**changes: object) -> OperationResult:
    """Return an operation; `changes` replace its fields."""
    quantiles = {
        "0.5": QuantileEstimate(value=0.03, low=0.029, high=0.031),
        "0.99": QuantileEstimate(value=0.09),
    }
    result = OperationResult(
        scenario="B-06", operation="CreateContainer", count=1200, mean=0.031, maximum=0.2, quantiles=quantiles
    )
    return dataclasses.replace(result, **changes)  # type: ignore[arg-type]  # a test names real fields


@pytest.mark.parametrize("sides", [False, True])
def test_the_page_is_inert(tmp_path: Path, sides: bool) -> None:
    record, series = sample_benchmark(sides=sides, size=200)
    page = Page(benchmark_to_html(record, stored(tmp_path, record, series)))

    is_inert(page)
    assert page.tags.count("svg") > 20


def test_hostile_text_is_text(tmp_path: Path) -> None:
    record, series = sample_benchmark(size=60)
    hostile = [
        dataclasses.replace(
            each,
            operation=HOSTILE,
            dimensions={HOSTILE: HOSTILE},
            note=HOSTILE,
            stopped=HOSTILE,
            errors={HOSTILE: 3},
            side="a",
        )
        for each in record.operations
    ]
    record = dataclasses.replace(
        record, operations=hostile, notes=[HOSTILE], exit_reason=HOSTILE, arguments=[HOSTILE]
    )
    for each in series:
        each.operation, each.dimensions = HOSTILE, {HOSTILE: HOSTILE, **each.dimensions}
    source = benchmark_to_html(record, tmp_path, series)

    assert "<script" not in source
    assert not set("\x1b\x00\u202e\udc80") & set(source)
    assert "&lt;script&gt;alert(" in source
    Page(source)


def test_a_benchmark_gets_this_page_and_a_mixed_run_both(tmp_path: Path) -> None:
    record, series = sample_benchmark(size=60)
    folder = stored(tmp_path / "run", record, series)
    names = {path.name for path in export(record, folder)}
    assert names == {"run.json", "report.html", "junit.xml"}
    assert "Distribution of CreateContainer" in (folder / "report.html").read_text()

    validation = sample_run(tmp_path)
    mixed = dataclasses.replace(validation, operations=record.operations)
    names = {path.name for path in export(mixed, tmp_path / "mixed")}
    assert names == {"run.json", "report.html", "benchmark.html", "junit.xml"}
    assert "Requirements" in (tmp_path / "mixed" / "report.html").read_text()
    assert "CreateContainer" in (tmp_path / "mixed" / "benchmark.html").read_text()
    assert "test_stp" not in (tmp_path / "mixed" / "benchmark.html").read_text()
    assert not [path for path in export(validation, tmp_path / "plain") if path.name == "benchmark.html"]


def test_no_latency_without_its_errors_and_no_percentile_that_the_count_does_not_support() -> None:
    assert row(small(), {}).tail == "p99 90.0 ms"
    assert row(small(count=999), {}).tail == ""
    assert row(small(count=5, minimum=0.01), {}).median == "10.0 to 200 ms"
    shown = row(small(count=90, warm_up=6, errors={"UNKNOWN": 1, "DEADLINE_EXCEEDED": 3}), {})
    assert (shown.errors, shown.codes, shown.failed) == ("4 (4.0 %)", "DEADLINE_EXCEEDED 3, UNKNOWN 1", True)
    assert row(small(), {}).errors == "none"
    nothing = row(OperationResult(scenario="B-06", operation="StopContainer", errors={"UNAVAILABLE": 7}), {})
    assert (nothing.median, nothing.tail, nothing.errors) == ("", "", "7 (100 %)")


def test_the_cost_of_the_client_is_shown_and_flagged() -> None:
    shown = row(small(client_seconds=0.012, client_bound=True, over_reference=1.456), {})

    assert (shown.client, shown.client_share, shown.client_bound, shown.over) == (
        "12.0 ms",
        "40 %",
        True,
        "1.46\N{MULTIPLICATION SIGN}",
    )
    page = benchmark_to_html(sample_benchmark(size=60)[0])
    assert page.count("client-bound") > 1
    assert "min to max" in page
    assert "MAD " in page


def test_a_rate_has_its_low_end_as_its_tail() -> None:
    quantiles = {
        "0.1": QuantileEstimate(value=38e6),
        "0.5": QuantileEstimate(value=41e6),
        "0.9": QuantileEstimate(value=44e6),
    }
    shown = row(small(unit="B/s", better="higher", quantiles=quantiles, client_seconds=0.001), {})

    assert (shown.median, shown.tail, shown.client_share) == ("41.0 MB/s", "p10 38.0 MB/s", "")


def test_every_scenario_has_its_outcome_and_reason() -> None:
    record, _ = sample_benchmark(size=60)
    found = {scenario.id: scenario for scenario in scenarios(record)}

    assert found["B-22"].outcome == "unsupported"
    assert found["B-33"].reason == "needs a private runtime: --node"
    assert found["B-06"].title == "CreateContainer and StartContainer apart"
    assert [each.name for each in found["B-06"].rows] == ["CreateContainer", "StartContainer"]
    page = benchmark_to_html(record)
    for text in (
        "GetContainerEvents is Unimplemented",
        "needs a private runtime: --node",
        "every call failed: UNAVAILABLE",
    ):
        assert text in page


def test_an_operation_of_which_every_sample_was_nothing_has_no_row() -> None:
    record, _ = sample_benchmark(size=60)
    nothing = small(operation="gap", minimum=0.0, maximum=0.0)
    found = scenarios(dataclasses.replace(record, operations=[*record.operations, nothing]))

    assert "gap" not in {each.name for scenario in found for each in scenario.rows}


def test_sides_stand_together() -> None:
    record, _ = sample_benchmark(sides=True, size=60)
    rows = next(scenario for scenario in scenarios(record) if scenario.id == "B-06").rows

    assert [(each.name, each.side) for each in rows[:2]] == [
        ("CreateContainer", "containerd 1.6"),
        ("CreateContainer", "containerd 2.1"),
    ]


def test_sides_have_names_and_each_number_of_the_headline_its_interval() -> None:
    page = benchmark_to_html(sample_benchmark(sides=True, size=400)[0])
    tiles = page[page.index('<ul class="tiles big">') : page.index("</ul>")]

    found = re.findall(r"<b>([\d.]+ m?s) <i>(containerd [\d.]+)</i></b><small>([\d.]+ to [\d.]+)", tiles)
    assert [name for _, name, _ in found[:2]] == ["containerd 1.6", "containerd 2.1"]
    assert "critests compare" in page
    assert not re.search(r"\[[ab]\]|\([AB]\)|side [AB]\b", page)


def test_the_caveats_of_the_results_are_listed() -> None:
    record, _ = sample_benchmark(size=400)
    restless = small(steadiness="never steady", late_share=0.2)
    said = " | ".join(cares(dataclasses.replace(record, operations=[*record.operations, restless])))

    for text in (
        "calls failed in 1 operation: B-09 StopContainer (",
        "client-bound",
        "never steady",
        "started later",
        "1.8 % of the CPU time",
    ):
        assert text in said
    assert cares(dataclasses.replace(record, operations=[small()], notes=[], benchmark=None)) == []


def test_facts_of_the_run_are_on_the_page() -> None:
    page = benchmark_to_html(sample_benchmark(size=400)[0])

    for text in (
        "standard",
        "seed",
        "1.8 %",
        "OCI runtime alone",
        "Client alone",
        "interval of the median is within 2 %",
        "25 samples of warm-up",
    ):
        assert text in page


def test_damaged_or_missing_samples_leave_the_numbers(tmp_path: Path) -> None:
    record, _ = sample_benchmark(size=60)
    assert "No plots: there are no samples next to the run record." in benchmark_to_html(record, tmp_path)

    (tmp_path / "samples").mkdir()
    (tmp_path / "samples" / "B-06.jsonl.gz").write_bytes(b"\x1f\x8bcut")
    page = benchmark_to_html(record, tmp_path)
    assert "holds no samples, or was cut off" in page
    assert "CreateContainer" in page


def test_a_page_of_too_many_plots_leaves_out_time_series_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark_page, "PLOTS_BUDGET", 70_000)
    record, series = sample_benchmark(size=300)
    page = benchmark_to_html(record, None, series)

    assert re.search(r"\d+ plots left out, because", page)
    assert "Phases of RunPodSandbox" in page
    assert "Latency against the number of containers" in page


def test_nothing_measured_is_a_page_too() -> None:
    record, _ = sample_benchmark(size=60)
    empty = dataclasses.replace(
        record, operations=[], tests=[], benchmark=None, exit_code=5, exit_reason="", machine={}
    )

    page = kind_of(empty.kind).to_html(empty, None)
    assert "Not measured" in page
    assert "No scenario ran." in page
    Page(page)


@pytest.mark.parametrize("sides", [False, True])
def test_what_one_more_costs_stands_below_its_scenario(sides: bool) -> None:
    record, _ = sample_benchmark(sides=sides, size=100)
    numbers = (1, 10, 50, 100)
    grown = [
        small(
            operation="ListContainers",
            scenario="B-18",
            side=side,
            dimensions={"containers": str(number)},
            quantiles={"0.5": QuantileEstimate(value=each, low=each * 0.99, high=each * 1.01)},
        )
        for side, factor in ((("a", 1), ("b", 3)) if sides else (("", 1),))
        for number in numbers
        for each in [0.001 + 0.00002 * factor * number]
    ]

    page = benchmark_to_html(dataclasses.replace(record, operations=grown), series=[])

    assert page.count("What one more costs") == 1
    assert "µs per container" in page
    assert ("one more container costs containerd" in page) is sides
    assert page.count("linear") == (2 if sides else 1)


def test_on_a_page_of_many_scenarios_one_plot_of_each_growth_is_open() -> None:
    record, series = sample_benchmark(sides=True, size=100)

    page = benchmark_to_html(record, None, series)

    depth, opened = 0, []
    for found in re.finditer(r"<details|</details>|<figcaption>(.*?)</figcaption>", page):
        depth += {"<details": 1, "</details>": -1}.get(found[0], 0)
        if found[1] and not depth:
            opened.append(found[1])
    assert opened == ["Latency against the number of containers"]


@pytest.mark.parametrize(("rows", "folded"), [(100, False), (101, True)])
def test_one_scenario_of_very_many_rows_shows_its_first(rows: int, folded: bool) -> None:
    record, _ = sample_benchmark(sides=False, size=20)
    many = [small(scenario="B-27", operation=f"operation {number}") for number in range(rows)]

    page = benchmark_to_html(dataclasses.replace(record, operations=many, tests=[]), series=[])

    assert ("more rows</summary>" in page) is folded
