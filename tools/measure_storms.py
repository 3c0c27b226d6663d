#!/usr/bin/env python3
"""The baseline of a storm without a runtime: many simultaneous calls to a server that does nothing.

usage: tools/measure_storms.py [--numbers 10,30,100,200] [--times 20]

For each number: the time until the last call ended, the slowest call, and the delay of the last thread
(medians over the storms). This is the client's part of B-29 and B-41; run it on the machine of the benchmark,
otherwise idle.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.garbage_collector import garbage_collection_paused
from critests.benchmark.measuring.meter import Meter
from critests.benchmark.reference.null_server import null_server
from critests.benchmark.scenarios.storms import DELAY, add_storm, run_storm
from critests.client.deadlines import Deadlines
from critests.client.endpoint import Endpoint
from critests.client.plain_connection import PlainConnection, plain_stubs

CALL, WHOLE = "Version", "all calls done"


def main() -> None:
    """Measure the storms and print a line for each number."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--numbers", default="10,30,100,200", help="numbers of calls (default 10,30,100,200)")
    parser.add_argument("--times", type=int, default=20, help="storms of each (default 20)")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, null_server(Path(folder)) as server:
        server.set_response(cri.VersionResponse(version="0.1.0").SerializeToString())
        connection = plain_stubs(Endpoint.parse(server.endpoint))
        try:
            for number in (int(word) for word in chosen.numbers.split(",")):
                whole, slowest, delay = measured(connection, number, chosen.times)
                print(
                    f"{number:>4} calls: all ended after {whole * 1e3:.1f} ms, the slowest took"
                    f" {slowest * 1e3:.1f} ms, the last started {delay * 1e3:.1f} ms late",
                    flush=True,
                )
        finally:
            connection.close()


def measured(connection: PlainConnection, number: int, times: int) -> tuple[float, float, float]:
    """Return the medians over some storms, in seconds: all calls, the slowest call, and the client's
    delay.
    """
    names = [f"call {index + 1}" for index in range(number)]
    request = cri.VersionRequest(version="0.1.0")

    def call(_index: int, meter: Meter) -> None:
        meter.call(CALL, connection.runtime.Version, request)

    rows = []
    for _ in range(times):
        meter = Meter("", {}, "", time.perf_counter(), Deadlines())
        with garbage_collection_paused():
            storm = run_storm(names, call, meter)
        add_storm(meter, storm, each=CALL, whole=WHOLE)
        rows.append((storm.seconds, meter.slowest[CALL][0], meter.series[f"{WHOLE}, {DELAY}"].value[0]))
    whole, slowest, delay = (statistics.median(column) for column in zip(*rows, strict=True))
    return whole, slowest, delay


if __name__ == "__main__":
    main()
