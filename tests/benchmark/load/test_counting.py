import random
from pathlib import Path

import pytest

pytest.importorskip("hdrh", reason="the load extra is not installed")

from critests.benchmark.load.histograms import Latencies
from critests.benchmark.load.outcome import operations_of, outcome_of, write_measured
from critests.benchmark.load.parcels import Tally, Total
from critests.benchmark.load.plan import SAMPLES_KEPT, Load, LoadResult, Mix
from critests.record.samples import read_samples

OPEN = Load(mix=Mix.EXEC, rate=10, duration=20, warm_up=1)


def filled(
    part: int, parts: int, number: int = 400, *, step: int = 1, errors: int = 0, load: Load = OPEN
) -> Tally:
    tally = Tally(step, load, parts)
    chance = random.Random(part)  # noqa: S311 - made-up samples
    for index in range(number):
        at, late = index * 0.05, 0.02 if index % 10 == 0 else 0.001
        warm = at < load.warm_up
        service = chance.lognormvariate(-3, 0.5)
        code = "INTERNAL" if index >= number - errors else "OK"
        tally.start(late, warm=warm, held_back=False)
        tally.call("ExecSync", at + late, service, code, warm=warm)
        tally.cycle(at, service + late, late, code, warm=warm)
    tally.seconds = load.duration
    return tally


def total_of(*tallies: Tally, load: Load = OPEN) -> Total:
    total = Total(1, load, len(tallies))
    for part, tally in enumerate(tallies):
        total.add(f"worker-{part}", tally.parcel(0, 0))
    return total


def test_a_merged_histogram_says_what_one_of_all_values_says() -> None:
    values = [random.Random(5).lognormvariate(-4, 1) for _ in range(3000)]  # noqa: S311 - made-up samples
    whole, parts = Latencies(), [Latencies() for _ in range(3)]
    for index, value in enumerate(values):
        whole.record(value)
        parts[index % 3].record(value)
    merged = Latencies.merged([*(part.encode() for part in parts), ""])
    assert merged.count == 3000
    assert merged.encode() == whole.encode()
    assert merged.quantile(0.99) == pytest.approx(sorted(values)[2969], rel=0.002)


def test_values_above_a_bound_are_counted() -> None:
    latencies = Latencies()
    for value in range(1, 101):
        latencies.record(value / 1000)
    assert latencies.above(0.09) == 10
    assert latencies.above(1) == 0


@pytest.mark.parametrize("value", [0.0, -1.0, 1e9])
def test_durations_out_of_range_are_kept_at_its_edge(value: float) -> None:
    latencies = Latencies()
    latencies.record(value)
    assert latencies.count == 1


def test_the_master_adds_up_and_leaves_the_warm_up_out() -> None:
    total = total_of(filled(0, 2), filled(1, 2, errors=4))
    result = total.result()
    tally = result.operations["exec"]
    assert Latencies.merged([tally.latency]).count == 2 * 380 - 4
    assert tally.errors == {"INTERNAL": 4}
    assert (result.started, result.late) == (760, 76)
    assert len(tally.samples) == 800
    assert sum(tally.samples.warm) == 40


def test_a_later_report_replaces_the_counts_and_adds_to_the_samples() -> None:
    tally = filled(0, 1, 100)
    total = Total(1, OPEN, 1)
    total.add("w", tally.parcel(0, 0))
    tally.cycle(19, 0.01, 0.0, "OK", warm=False)
    total.add("w", tally.parcel(0, 0))
    result = total.result().operations["exec"]
    assert len(result.samples) == 101
    assert Latencies.merged([result.latency]).count == 81


def test_a_report_about_another_step_is_left_out() -> None:
    total = Total(2, OPEN, 1)
    total.add("w", filled(0, 1, step=1).parcel(0, 0))
    assert total.result().operations == {}


def test_what_is_under_way_for_too_long_is_overdue() -> None:
    tally = Tally(1, OPEN, 1)
    tally.under_way = {1: 2.0, 2: 4.9, 3: 0.5}
    assert tally.parcel(5.0, 1.0)["overdue"] == 1
    assert tally.parcel(5.0, 0)["overdue"] == 0


def test_too_many_samples_are_not_kept_but_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("critests.benchmark.load.parcels.SAMPLES_KEPT", 50)
    result = total_of(filled(0, 1, 100)).result().operations["exec"]
    assert result.cut
    assert not len(result.samples)
    assert Latencies.merged([result.latency]).count == 80
    assert SAMPLES_KEPT == 100_000


def test_the_record_states_only_quantiles_that_the_count_supports() -> None:
    operations = operations_of(LoadResult(steps=[total_of(filled(0, 2), filled(1, 2)).result()]))
    headline = next(operation for operation in operations if operation.headline)
    assert headline.count == 760
    assert set(headline.quantiles) == {"0.1", "0.5", "0.9", "0.95"}
    median = headline.quantiles["0.5"]
    assert median.low is not None
    assert median.high is not None
    assert median.low < median.value < median.high
    assert headline.late_share == pytest.approx(0.1)
    service = next(operation for operation in operations if operation.dimensions.get("measured") == "service")
    assert service.quantiles["0.5"].value < median.value


def test_samples_and_histograms_are_written(tmp_path: Path) -> None:
    write_measured(LoadResult(steps=[total_of(filled(0, 1, errors=2)).result()]), tmp_path)
    cycle = next(series for series in read_samples(tmp_path) if series.operation == "exec")
    assert cycle.warm_up == 20
    assert cycle.errors() == {"INTERNAL": 2}
    assert cycle.at == sorted(cycle.at)
    assert len(cycle.late) == len(cycle.value) == 400
    assert {path.name for path in tmp_path.glob("*.hdr")} == {
        "exec.latency.hdr",
        "exec.service.hdr",
        "ExecSync.service.hdr",
    }
    assert Latencies.merged([(tmp_path / "exec.latency.hdr").read_text().strip()]).count == 378


@pytest.mark.parametrize(
    ("tally", "interrupted", "code"),
    [
        (filled(0, 1), False, 0),
        (filled(0, 1), True, 2),
        (filled(0, 1, errors=400), False, 5),
    ],
)
def test_errors_are_data_but_no_success_at_all_is_no_result(
    tally: Tally, interrupted: bool, code: int
) -> None:
    outcome = outcome_of(LoadResult(steps=[total_of(tally).result()]), interrupted=interrupted)
    assert outcome.exit_code == code
    assert code != 5 or "INTERNAL" in outcome.reason


def test_a_runtime_that_went_away_is_told() -> None:
    tally = filled(0, 1)
    tally.gone = "the runtime stopped answering"
    outcome = outcome_of(LoadResult(steps=[total_of(tally).result()]), interrupted=False)
    assert (outcome.exit_code, outcome.reason) == (5, "the runtime stopped answering")


def test_the_harness_that_fails_is_told_from_the_runtime() -> None:
    assert (
        outcome_of(LoadResult(problem="a worker went away", harness=True), interrupted=False).exit_code == 3
    )
    assert outcome_of(LoadResult(problem="no pod stands"), interrupted=False).exit_code == 5
