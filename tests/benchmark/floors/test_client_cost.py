import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from critests.benchmark.floors.client_cost import call_rate, client_cost
from critests.benchmark.measuring.client_process import EXPERIMENTS, WAITER_READS, environment


def test_each_rpc_gets_a_cost(tmp_path: Path) -> None:
    rpcs = (
        "Version",
        "RunPodSandbox",
        "RemovePodSandbox",
        "RemoveContainer",
        "ContainerStatus",
        "StartContainer",
        "PullImage",
        "Version",
    )
    costs = client_cost(rpcs, calls=5, warm_up=1, directory=tmp_path)
    assert list(costs) == list(dict.fromkeys(rpcs))
    assert all(0 < seconds < 5 for seconds in costs.values())
    assert list(tmp_path.iterdir()) == []
    assert gc.isenabled()


@pytest.mark.parametrize("rpc", ["Nonsense", "GetContainerEvents"])
def test_what_cannot_be_timed_is_refused(tmp_path: Path, rpc: str) -> None:
    with pytest.raises(KeyError, match=rpc):
        client_cost([rpc], directory=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_lists_and_output_cost_more_the_larger_they_are(tmp_path: Path) -> None:
    rpcs = ("ListContainers", "StreamImages", "ExecSync")
    small = client_cost(rpcs, calls=5, warm_up=1, directory=tmp_path)
    large = client_cost(rpcs, entries=5000, payload=8 << 20, calls=3, warm_up=1, directory=tmp_path)
    assert all(large[rpc] > small[rpc] for rpc in rpcs)


def test_the_rate_is_measured(tmp_path: Path) -> None:
    rate = call_rate(0.2, directory=tmp_path)
    assert rate.calls > 10
    assert 0 < rate.per_second <= rate.per_cpu_second * 1.5


def test_the_process_that_times_calls_reads_answers_itself_unless_the_user_wants_it_otherwise() -> None:
    assert environment({"HOME": "/root"}) == {"HOME": "/root", EXPERIMENTS: WAITER_READS}
    assert environment({EXPERIMENTS: "a_choice"}) == {EXPERIMENTS: "a_choice"}


def test_grpc_knows_what_it_is_asked_for() -> None:
    code = "import grpc; channel = grpc.insecure_channel('unix:/nowhere'); channel.close()"
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment(os.environ), capture_output=True, text=True, check=True
    )

    assert ended.stderr == ""
