#!/usr/bin/env python3
"""What the proxy of the audit costs a call while no fault is set, one call at a time: the difference to the
same call without it. The number in proof/README.md is made with this.

usage: tools/measure_proxy.py [--node containerd=/path/to/containerd] [--calls 2000]

Direct calls and calls through the proxy take turns in one process, as they do in an audit, so that whatever
else the machine does meets both alike.
"""

import argparse
import statistics
import time
from collections.abc import Callable

from critests_proof.proxy.fault_proxy import FaultProxy

from critests.api import api_pb2 as cri
from critests.client.connection import Connection, connect
from critests.client.endpoint import Endpoint
from critests.node.starting.targets import parse_throwaway
from critests.node.starting.with_registry import throwaway_with_registry

WARM_UP = 100
"""Calls of each kind that are not counted."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--node", default="containerd")
    parser.add_argument("--calls", type=int, default=2000, help="of each RPC, each way (default 2000)")
    chosen = parser.parse_args()
    node = parse_throwaway(chosen.node)
    with (
        throwaway_with_registry(node.kind, binary=node.binary) as (runtime, _),
        FaultProxy(runtime.endpoint) as proxy,
    ):
        print(f"{runtime.runtime_name} {runtime.version}, {chosen.calls} calls of each, milliseconds")
        straight, through = (connect(Endpoint.parse(way)) for way in (runtime.endpoint, proxy.endpoint))
        for name in ("Version", "Status", "ListContainers", "ListImages"):
            _print(name, *_taken(_call(straight, name), _call(through, name), chosen.calls))
        straight.close()
        through.close()


def _call(connection: Connection, rpc: str) -> Callable[[], object]:
    method = getattr(connection.images if rpc == "ListImages" else connection.runtime, rpc)
    request = getattr(cri, f"{rpc}Request")()
    return lambda: method(request)


def _taken(
    straight: Callable[[], object], through: Callable[[], object], calls: int
) -> tuple[list[float], list[float]]:
    """Return what calls took in milliseconds, those straight and those through the proxy."""
    taken: tuple[list[float], list[float]] = ([], [])
    for number in range(WARM_UP + calls):
        for call, into in zip((straight, through), taken, strict=True):
            begun = time.perf_counter()
            call()
            if number >= WARM_UP:
                into.append(1000 * (time.perf_counter() - begun))
    return taken


def _print(rpc: str, straight: list[float], through: list[float]) -> None:
    one, other = statistics.median(straight), statistics.median(through)
    more = statistics.median(b - a for a, b in zip(straight, through, strict=True))
    tails = [statistics.quantiles(some, n=100)[98] for some in (straight, through)]
    print(
        f"{rpc:<16} median {one:.2f} straight, {other:.2f} through, {more:+.2f} of a pair;"
        f" 99th percentile {tails[0]:.2f} and {tails[1]:.2f}"
    )


if __name__ == "__main__":
    main()
