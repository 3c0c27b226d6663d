import gc
import os
import subprocess
import sys

import pytest

from critests.benchmark.measuring.client_process import EXPERIMENTS, WAITER_READS, environment
from critests.benchmark.reference.client_cost import client_cost
from critests.benchmark.reference.preflight import TIMED_RPCS


def test_each_timed_rpc_has_a_cost() -> None:
    costs = client_cost(TIMED_RPCS, calls=5, warm_up=1)

    assert list(costs) == list(TIMED_RPCS)
    assert all(0 < seconds < 5 for seconds in costs.values())
    assert gc.isenabled()


def test_an_unknown_rpc_is_rejected() -> None:
    with pytest.raises(KeyError, match="Nonsense"):
        client_cost(["Nonsense"], calls=1, warm_up=0)


def test_the_waiting_thread_reads_responses_unless_the_user_configures_otherwise() -> None:
    assert environment({"HOME": "/root"}) == {"HOME": "/root", EXPERIMENTS: WAITER_READS}
    assert environment({EXPERIMENTS: "a_choice"}) == {EXPERIMENTS: "a_choice"}


def test_grpc_knows_the_experiment() -> None:
    code = "import grpc; channel = grpc.insecure_channel('unix:/nowhere'); channel.close()"
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment(os.environ), capture_output=True, text=True, check=True
    )

    assert ended.stderr == ""
