import time

import pytest

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.meter import NOT_DONE, CallFailed, NotDone, merged
from tests.benchmark.fakes import answering, new_meter

REQUEST = cri.VersionRequest()


def test_a_call_is_one_sample() -> None:
    meter = new_meter()
    assert meter.call("Version", answering(0.01), REQUEST).version == "1"
    (series,) = meter.series.values()
    assert series.operation == "Version"
    assert 0.01 <= series.value[0] < 30, "seconds"
    assert series.codes == {}
    assert meter.rpcs["Version"] == {"Version": 1}
    assert meter.windows["Version"][1] == series.value[0]


def test_a_failed_call_is_stored_with_its_code() -> None:
    meter = new_meter()
    with pytest.raises(CallFailed, match="Version failed with UNKNOWN: no"):
        meter.call("Version", answering(failing={1}), REQUEST)
    series = meter.series["Version"]
    assert series.errors() == {"UNKNOWN": 1}
    assert series.steady() == []


def test_a_sum_counts_only_timed_windows() -> None:
    meter = new_meter()
    with meter.sum("both"):
        meter.call("one", answering(0.01), REQUEST, rpc="Version")
        time.sleep(0.1)
        meter.call("other", answering(0.01), REQUEST, rpc="Version")
    total = meter.series["one"].value[0] + meter.series["other"].value[0]
    assert meter.series["both"].value == [pytest.approx(total)]
    assert meter.rpcs["both"] == {"Version": 2}


def test_sums_can_be_nested() -> None:
    meter = new_meter()
    with meter.sum("whole"):
        with meter.sum("first half"):
            meter.call("one", answering(0.005), REQUEST, rpc="Version")
        meter.call("two", answering(0.005), REQUEST, rpc="Version")
    one, two = meter.series["one"].value[0], meter.series["two"].value[0]
    assert meter.series["first half"].value == [pytest.approx(one)]
    assert meter.series["whole"].value == [pytest.approx(one + two)]


def test_a_sum_that_ends_half_way_is_no_short_one() -> None:
    meter = new_meter()
    with pytest.raises(CallFailed), meter.sum("both"):  # noqa: PT012 - a cycle is several calls
        meter.call("one", answering(), REQUEST, rpc="Version")
        meter.call("two", answering(failing={1}), REQUEST, rpc="Version")
    with pytest.raises(NotDone), meter.sum("both"):  # noqa: PT012 - a cycle is several calls
        meter.call("one", answering(), REQUEST, rpc="Version")
        raise NotDone("it was not done")
    assert meter.series["both"].errors() == {"UNKNOWN": 1, NOT_DONE: 1}


def test_an_interrupted_cycle_is_not_a_failure() -> None:
    meter = new_meter()
    with pytest.raises(KeyboardInterrupt), meter.sum("both"):  # noqa: PT012 - a cycle is several calls
        meter.call("one", answering(), REQUEST, rpc="Version")
        raise KeyboardInterrupt
    assert "both" not in meter.series
    assert meter.series["one"].errors() == {}


def test_only_the_samples_of_the_current_cycle_are_marked_as_not_done() -> None:
    meter = new_meter()
    for _ in range(2):
        meter.begin_cycle()
        meter.call("Version", answering(), REQUEST)
        meter.with_dimensions(phase="cni").add("Version", 0.5, 0.0)
    meter.mark_not_done()
    assert meter.series["Version"].codes == {"1": NOT_DONE}
    assert meter.with_dimensions(phase="cni").series["Version"].codes == {"1": NOT_DONE}


def test_additional_dimensions_are_separate_series() -> None:
    meter = new_meter(handler="runc")
    meter.block = 3
    meter.with_dimensions(phase="cni").add("RunPodSandbox", 1.0, 0.0)
    meter.with_dimensions(phase="oci").add("RunPodSandbox", 2.0, 0.0)
    meter.with_dimensions(phase="cni").add("RunPodSandbox", 3.0, 0.0)
    found = {
        each.series["RunPodSandbox"].dimensions["phase"]: each.series["RunPodSandbox"]
        for each in meter.all_meters[1:]
    }
    assert found["cni"].value == [1.0, 3.0]
    assert found["cni"].block == [3, 3]
    assert found["oci"].dimensions == {"handler": "runc", "phase": "oci"}
    assert meter.series == {}


def test_threads_are_merged_in_the_order_of_their_beginnings() -> None:
    first, second = new_meter(), new_meter()
    first.add("Version", 1.0, 10.0, late=0.5)
    first.add("Version", 3.0, 30.0, late=0.5)
    second.add("Version", 2.0, 20.0, code="UNKNOWN", late=0.7)
    joined = merged([first, second])["Version"]
    assert joined.value == [1.0, 2.0, 3.0]
    assert joined.codes == {"1": "UNKNOWN"}
    assert joined.late == [0.5, 0.7, 0.5]
