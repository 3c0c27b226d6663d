import pytest

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.closed_loop import share_within
from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.measuring.sampling import Tally
from tests.benchmark.fakes import answering, bench, doing

REQUEST = cri.VersionRequest()


def version(meter: Meter) -> None:
    meter.call("Version", answering(0.001), REQUEST)


def test_a_workload_is_sampled_and_summarised() -> None:
    made = bench(seconds=0.2)
    made.sample(
        doing(version), headline="Version", dimensions={"containers": "5"}, reference={"Version": 0.001}
    )
    (operation,) = made.operations
    assert operation.headline
    assert operation.dimensions == {"containers": "5"}
    assert operation.client_seconds == 1e-4
    assert operation.over_reference is not None
    assert operation.over_reference >= 1
    assert 0 < operation.resources["cpu_seconds"] <= 1
    made.conclude()
    series = made.for_pytest_benchmark()
    assert series is not None
    assert series.operation == "Version"


def test_measuring_an_operation_twice_is_an_error() -> None:
    made = bench(seconds=0.0)
    made.sample(doing(version), headline="Version")
    with pytest.raises(AssertionError, match="measured twice"):
        made.sample(doing(version), headline="Version")
    made.sample(doing(version), headline="Version", dimensions={"containers": "1"})


def test_both_sides_of_a_comparison_are_stored() -> None:
    made = bench("a", "b", seconds=0.05)
    made.sample(doing(version), headline="Version")
    assert {item.side for item in made.operations} == {"a", "b"}
    assert made.series[0].key == made.series[1].key
    assert made.series[0].block


def test_two_sides_of_one_daemon_have_no_resource_usage() -> None:
    made = bench("a", "b", seconds=0.05)
    for target in made.targets:
        target.context.daemon_pid = 7
    made.sample(doing(version), headline="Version")
    assert [item.resources for item in made.operations] == [{}, {}]


def test_a_scenario_without_a_sample_fails() -> None:
    made = bench(seconds=30)
    made.sample(
        doing(lambda meter: meter.call("Version", answering(failing={1}), REQUEST)), headline="Version"
    )
    assert made.operations[0].errors == {"UNKNOWN": 5}
    assert "5 of 5 cycles failed" in made.operations[0].note
    assert made.for_pytest_benchmark() is None
    with pytest.raises(AssertionError, match="no Version succeeded: Version failed with UNKNOWN"):
        made.conclude()


def test_a_scenario_that_ends_early_fails_and_stores_its_samples() -> None:
    method = answering(failing=set(range(10, 100)))
    made = bench(seconds=30)
    made.sample(doing(lambda meter: meter.call("Version", method, REQUEST)), headline="Version")
    assert made.operations[0].count == 9
    with pytest.raises(AssertionError, match="5 cycles in a row failed"):
        made.conclude()


def test_a_scenario_fails_if_the_runtime_did_not_do_what_it_reported() -> None:
    cycles = iter(range(1000))

    def cycle(meter: Meter) -> None:
        version(meter)
        if next(cycles) == 3:
            raise NotDone("the container does not run")

    made = bench(seconds=1)
    made.sample(doing(cycle), headline="Version")
    assert made.operations[0].errors == {"NOT_DONE": 1}
    with pytest.raises(
        AssertionError,
        match=r"reported success in \d+ cycles, 1 of which it had not done: the container does not run",
    ):
        made.conclude()


def test_failures_of_every_third_call_are_data() -> None:
    method = answering(0.001, failing=set(range(3, 10000, 3)))
    made = bench(seconds=0.2)
    made.sample(doing(lambda meter: meter.call("Version", method, REQUEST)), headline="Version")
    made.conclude()
    assert made.operations[0].errors["UNKNOWN"] == len(made.series[0].value) // 3


def test_samples_before_an_exception_are_stored() -> None:
    cycles = iter(range(1000))

    def cycle(meter: Meter) -> None:
        version(meter)
        if next(cycles) == 3:
            raise KeyboardInterrupt

    made = bench(seconds=30)
    with pytest.raises(KeyboardInterrupt):
        made.sample(doing(cycle), headline="Version")
    assert made.operations[0].count == 4
    assert made.operations[0].stopped == "broken off"


def test_each_window_gives_a_throughput() -> None:
    made = bench(seconds=0.4)

    def cycle(meter: Meter) -> None:
        meter.call("Version", answering(0.02), REQUEST)

    made.concurrently(
        doing(cycle), workers=4, operation="calls", headline="Version", dimensions={"work": "calls"}
    )
    made.conclude()
    rate = next(item for item in made.operations if item.operation == "calls")
    latency = next(item for item in made.operations if item.operation == "Version")
    assert rate.dimensions == {"concurrency": "4"}
    assert latency.dimensions == {"work": "calls", "concurrency": "4"}
    assert rate.unit == "1/s"
    assert rate.better == "higher"
    assert 5 < (rate.mean or 0) <= 201


def test_windows_of_two_sides_alternate() -> None:
    made = bench("a", "b", seconds=0.5)
    made.concurrently(doing(version), workers=2, operation="calls", headline="Version")
    rates = [series for series in made.series if series.operation == "calls"]
    assert [series.block for series in rates] == [[0, 1, 2, 3, 4]] * 2
    assert not set(zip(rates[0].at, rates[0].at, strict=True)) & set(
        zip(rates[1].at, rates[1].at, strict=True)
    )


def test_windows_end_when_every_worker_fails() -> None:
    made = bench(seconds=36_000)
    made.concurrently(
        doing(lambda meter: meter.call("Version", answering(failing={1}), REQUEST)),
        workers=3,
        operation="calls",
        headline="Version",
    )
    with pytest.raises(AssertionError, match="all cycles failed"):
        made.conclude()


def test_a_note_says_that_resources_are_those_of_the_whole_cycle() -> None:
    def two(meter: Meter) -> None:
        version(meter)
        meter.call("Status", answering(), REQUEST)

    made = bench(seconds=0.05)
    made.sample(doing(two), headline="Version")
    assert [("whole cycle" in item.note, bool(item.resources)) for item in made.operations] == [
        (True, True),
        (False, False),
    ]


def test_a_reference_time_needs_every_step() -> None:
    made = bench()
    assert made.oci_runtime_seconds(
        **{"create and start": ("create", "start"), "cycle": ("create", "kill")}
    ) == {"create and start": pytest.approx(0.03)}


def test_a_phase_is_not_a_headline() -> None:
    made = bench()
    meter = made.meter(made.target)
    meter.with_dimensions(phase="cni").add("RunPodSandbox", 1.0, 0.0)
    made.add_results(meter, headline="RunPodSandbox", stopped="enough", tally=Tally())
    assert [item.headline for item in made.operations] == [False]
    made.conclude()


@pytest.mark.parametrize(
    ("span", "share"),
    [((1, 2), 1), ((-1, 1), 0.5), ((9, 11), 0.5), ((20, 30), 0), ((5, 5), 0), ((-10, 30), 0.25)],
)
def test_a_cycle_across_the_edge_of_a_window_counts_by_its_share(
    span: tuple[float, float], share: float
) -> None:
    assert share_within(span, 0, 10) == pytest.approx(share)


def test_a_remark_is_made_once() -> None:
    made = bench()

    for sentence in ("no events", "no SIGKILL", "no events"):
        made.remark(sentence)

    assert made.remarks == ["no events", "no SIGKILL"]
