import time

import pytest

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.meter import NOT_DONE, CallFailed, NotDone, merged
from tests.benchmark.fakes import answering, meter

REQUEST = cri.VersionRequest()


def test_a_call_is_one_sample() -> None:
    kept = meter()
    assert kept.call("Version", answering(0.01), REQUEST).version == "1"
    (series,) = kept.series.values()
    assert series.operation == "Version"
    assert 0.01 <= series.value[0] < 30, "seconds"
    assert series.codes == {}
    assert kept.rpcs["Version"] == {"Version": 1}
    assert kept.windows["Version"][1] == series.value[0]


def test_a_failed_call_is_kept_with_its_code() -> None:
    kept = meter()
    with pytest.raises(CallFailed, match="Version failed with UNKNOWN: no"):
        kept.call("Version", answering(failing={1}), REQUEST)
    series = kept.series["Version"]
    assert series.errors() == {"UNKNOWN": 1}
    assert series.steady() == []


def test_a_sum_has_only_what_was_timed_in_it() -> None:
    kept = meter()
    with kept.sum("both"):
        kept.call("one", answering(0.01), REQUEST, rpc="Version")
        time.sleep(0.1)
        kept.call("other", answering(0.01), REQUEST, rpc="Version")
    total = kept.series["one"].value[0] + kept.series["other"].value[0]
    assert kept.series["both"].value == [pytest.approx(total)]
    assert kept.rpcs["both"] == {"Version": 2}


def test_sums_can_be_nested() -> None:
    kept = meter()
    with kept.sum("whole"):
        with kept.sum("first half"):
            kept.call("one", answering(0.005), REQUEST, rpc="Version")
        kept.call("two", answering(0.005), REQUEST, rpc="Version")
    one, two = kept.series["one"].value[0], kept.series["two"].value[0]
    assert kept.series["first half"].value == [pytest.approx(one)]
    assert kept.series["whole"].value == [pytest.approx(one + two)]


def test_a_sum_that_ends_half_way_is_no_short_one() -> None:
    kept = meter()
    with pytest.raises(CallFailed), kept.sum("both"):  # noqa: PT012 - a cycle is several calls
        kept.call("one", answering(), REQUEST, rpc="Version")
        kept.call("two", answering(failing={1}), REQUEST, rpc="Version")
    with pytest.raises(NotDone), kept.sum("both"):  # noqa: PT012 - a cycle is several calls
        kept.call("one", answering(), REQUEST, rpc="Version")
        raise NotDone("it was not done")
    assert kept.series["both"].errors() == {"UNKNOWN": 1, NOT_DONE: 1}


def test_what_the_user_breaks_off_is_no_failure_of_the_runtime() -> None:
    kept = meter()
    with pytest.raises(KeyboardInterrupt), kept.sum("both"):  # noqa: PT012 - a cycle is several calls
        kept.call("one", answering(), REQUEST, rpc="Version")
        raise KeyboardInterrupt
    assert "both" not in kept.series
    assert kept.series["one"].errors() == {}


def test_what_was_not_done_is_disowned_and_the_cycles_before_are_not() -> None:
    kept = meter()
    for _ in range(2):
        kept.begin_cycle()
        kept.call("Version", answering(), REQUEST)
        kept.under(phase="cni").keep("Version", 0.5, 0.0)
    kept.disown()
    assert kept.series["Version"].codes == {"1": NOT_DONE}
    assert kept.under(phase="cni").series["Version"].codes == {"1": NOT_DONE}


def test_further_dimensions_are_kept_apart() -> None:
    kept = meter(handler="runc")
    kept.block = 3
    kept.under(phase="cni").keep("RunPodSandbox", 1.0, 0.0)
    kept.under(phase="oci").keep("RunPodSandbox", 2.0, 0.0)
    kept.under(phase="cni").keep("RunPodSandbox", 3.0, 0.0)
    found = {
        each.series["RunPodSandbox"].dimensions["phase"]: each.series["RunPodSandbox"]
        for each in kept.every[1:]
    }
    assert found["cni"].value == [1.0, 3.0]
    assert found["cni"].block == [3, 3]
    assert found["oci"].dimensions == {"handler": "runc", "phase": "oci"}
    assert kept.series == {}


def test_threads_are_merged_in_the_order_of_their_beginnings() -> None:
    first, second = meter(), meter()
    first.keep("Version", 1.0, 10.0, late=0.5)
    first.keep("Version", 3.0, 30.0, late=0.5)
    second.keep("Version", 2.0, 20.0, code="UNKNOWN", late=0.7)
    joined = merged([first, second])["Version"]
    assert joined.value == [1.0, 2.0, 3.0]
    assert joined.codes == {"1": "UNKNOWN"}
    assert joined.late == [0.5, 0.7, 0.5]
