import dataclasses
import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from critests.record.operations import OperationResult
from critests.record.run_record import RunRecord
from critests.report.benchmark.benchmark_terminal import print_benchmark
from critests.report.run_kinds import kind_of
from critests.report.terminal.console import new_console
from tests.report.sample_benchmark import sample_benchmark
from tests.report.sample_run import HOSTILE, sample_run


def printed(record: RunRecord, run_dir: Path | None = None, width: int | None = None) -> str:
    """Return what is printed where there is no terminal, or in one of a width."""
    out = io.StringIO()
    print_benchmark(record, new_console(out, width=width), run_dir)
    return out.getvalue()


@pytest.mark.parametrize("sides", [False, True])
def test_a_summary_is_at_most_a_hundred_columns_wide(sides: bool) -> None:
    record, _ = sample_benchmark(sides=sides, size=400)
    lines = printed(record).splitlines()

    assert max(map(len, lines)) <= 100
    assert not any("\x1b" in line for line in lines)


@pytest.mark.parametrize("sides", [False, True])
def test_a_table_fits_eighty_columns(sides: bool) -> None:
    record, _ = sample_benchmark(sides=sides, size=400)
    record = dataclasses.replace(record, exit_reason="measured", notes=[])

    assert max(map(len, printed(record, width=80).splitlines())) <= 80


def test_a_wide_terminal_has_the_extremes_and_the_deviation() -> None:
    record, _ = sample_benchmark(size=400)
    header = next(line for line in printed(record, width=140).splitlines() if line.startswith("operation"))

    assert header.split()[7:11] == ["tail", "min", "max", "MAD"]
    assert "MAD: median absolute" in printed(record, width=140)
    assert "MAD" not in printed(record, width=80)


def test_sides_stand_below_their_operation_by_name() -> None:
    record, _ = sample_benchmark(sides=True, size=400)
    lines = printed(record).splitlines()
    place = lines.index("  CreateContainer")

    assert [" ".join(line.split()[:2]) for line in lines[place + 1 : place + 3]] == [
        "containerd 1.6",
        "containerd 2.1",
    ]


def test_an_operation_is_one_line_with_its_errors_and_its_tail() -> None:
    record, _ = sample_benchmark(size=1200)
    text = printed(record)

    assert "profile standard, seed 7" in text
    rows = {
        line.strip().rsplit("  ", 99)[0].strip(): line.split()
        for line in text.splitlines()
        if line.startswith("  ")
    }
    assert rows["CreateContainer"][1:9] == ["1,175", "none", "31.4", "ms", "1.1", "%", "p99", "67.0"]
    assert rows["StopContainer"][2:5] == ["6", "(1.0", "%)"]
    assert "34 % !" in text
    assert "! client-bound" in text
    assert text.index("B-06  CreateContainer and StartContainer apart") < text.index("Read with care (4)")
    assert text.index("Not measured, or only in part (3)") < text.index("exit 1: 10 scenarios were measured")


def test_no_column_without_anything_in_it() -> None:
    record, _ = sample_benchmark(size=60)
    bare = OperationResult(scenario="B-06", operation="StopContainer", errors={"UNAVAILABLE": 7})
    text = printed(dataclasses.replace(record, operations=[bare], tests=[], notes=[], benchmark=None))

    header = next(line for line in text.splitlines() if line.startswith("operation"))
    assert "no call failed" not in text
    assert header.split() == ["operation", "samples", "errors", "median", "±", "95", "%"]
    assert re.search(r"StopContainer +0  7 \(100 %\) +no sample", text)


def test_hostile_text_is_text_and_places_are_named(tmp_path: Path) -> None:
    record, _ = sample_benchmark(size=60)
    hostile = [
        dataclasses.replace(each, operation=HOSTILE, dimensions={HOSTILE: HOSTILE})
        for each in record.operations
    ]
    text = printed(
        dataclasses.replace(record, operations=hostile, notes=[HOSTILE], exit_reason=HOSTILE), tmp_path
    )

    assert "\x1b" not in text
    assert "\u202e" not in text
    assert f"report: {tmp_path}/report.html" in text
    assert (
        max(len(line) for line in text.splitlines() if "<script>" in line and not line.startswith("exit"))
        <= 100
    )


def test_colours_only_where_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    record, _ = sample_benchmark(size=60)
    monkeypatch.setenv("NO_COLOR", "1")
    out = io.StringIO()
    print_benchmark(record, Console(file=out, force_terminal=True, width=100, markup=False, highlight=False))
    assert "\x1b[3" not in out.getvalue()

    monkeypatch.delenv("NO_COLOR")
    out = io.StringIO()
    print_benchmark(
        record,
        Console(
            file=out, force_terminal=True, color_system="standard", width=100, markup=False, highlight=False
        ),
    )
    assert "\x1b[" in out.getvalue()


def test_the_usual_summary_knows_benchmarks_and_mixed_runs(tmp_path: Path) -> None:
    record, _ = sample_benchmark(size=60)
    out = io.StringIO()
    kind_of(record.kind).print_summary(record, new_console(out), None)
    assert out.getvalue() == printed(record)

    mixed = dataclasses.replace(sample_run(tmp_path), operations=record.operations)
    out = io.StringIO()
    kind_of(mixed.kind).print_summary(mixed, new_console(out), None)
    text = out.getvalue()
    assert text.index("Failures (6, ") < text.index("ListContainers containers=100") < text.index("exit 3")


def test_a_long_table_has_what_the_scenarios_are_about_and_what_failed() -> None:
    record, _ = sample_benchmark(size=400)
    more = [dataclasses.replace(each, scenario="B-11", headline=False) for each in record.operations * 2]
    text = printed(dataclasses.replace(record, operations=[*record.operations, *more]))

    assert "more operations in the report" in text
    section = text[text.index("B-11  ") : text.index("B-13  ")]
    assert [line.split("  ")[1] for line in section.splitlines() if line.startswith("  ")] == [
        "pod cycle",
        "StopContainer",
        "StopContainer",
    ]


def grown(operation: str, at_one: float, each: float, side: str = "") -> list[OperationResult]:
    """Return an operation at several numbers of pods, of which each costs as much."""
    return [
        OperationResult(
            scenario="B-27",
            operation=operation,
            side=side,
            dimensions={"pods": str(number)},
            count=100,
            mean=at_one + each * number,
            minimum=at_one,
            maximum=at_one + each * number,
        )
        for number in (1, 10, 50, 100)
    ]


def exact(operations: list[OperationResult]) -> list[OperationResult]:
    return [dataclasses.replace(each, minimum=each.mean, maximum=each.mean) for each in operations]


def test_growing_operations_have_a_cost_of_one_more_and_the_rest_is_counted() -> None:
    record, _ = sample_benchmark(size=20)
    operations = exact(
        [*grown("relist", 0.002, 1e-4), *grown("Version", 0.001, 0.0), *grown("Status", 0.001, 0.0)]
    )

    said = printed(dataclasses.replace(record, operations=operations))

    words = " ".join(said.split())
    assert "What one more costs B-27 relist, by pods linear; 100 µs per pod" in words
    assert "no measurable growth: 2 operations" in words
    assert max(map(len, said.splitlines())) <= 100


def test_the_costs_of_two_sides_stand_below_their_operation() -> None:
    record, _ = sample_benchmark(sides=True, size=20)
    operations = exact([*grown("relist", 0.002, 1e-4, "a"), *grown("relist", 0.002, 4e-4, "b")])

    words = " ".join(printed(dataclasses.replace(record, operations=operations)).split())

    assert "B-27 relist, by pods containerd 1.6: linear; 100 µs per pod" in words
    assert "containerd 2.1: linear; 400 µs per pod" in words
    assert "one more pod costs containerd 1.6 100 µs and containerd 2.1 400 µs" in words


def test_a_run_without_numbers_of_anything_says_nothing_of_growth() -> None:
    record, _ = sample_benchmark(size=20, operations=[])

    assert "What one more costs" not in printed(record)
