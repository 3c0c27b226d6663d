"""The minimal cost of a call: calls that need no work of the runtime."""

import contextlib
from collections.abc import Iterator

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.meter import Meter
from critests.benchmark.measuring.sampling import Cycle
from critests.benchmark.measuring.target import Target


@scenario("B-01")
def test_version_and_status(bench: Bench) -> None:
    """Version and Status in turn: transport, client and the daemon's dispatch."""
    bench.sample(_version_and_status, headline="Version")


@contextlib.contextmanager
def _version_and_status(target: Target) -> Iterator[Cycle]:
    version, status = cri.VersionRequest(version="0.1.0"), cri.StatusRequest()

    def cycle(meter: Meter) -> None:
        meter.call("Version", target.runtime.Version, version)
        meter.call("Status", target.runtime.Status, status)

    yield cycle
