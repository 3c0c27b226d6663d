"""ExecSync, the most frequent call that runs a process: latency, with output, and concurrently."""

import contextlib
from collections.abc import Iterator

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.workloads import HOST

MEGABYTE = 1_000_000
"""Not 2**20: runtimes limit messages to 16 MiB, and the response is larger than the output."""
OUTPUTS = {"compare": (), "smoke": (1,), "standard": (1, 16), "full": (1, 16)}
"""Megabytes."""
CONCURRENCIES = {"compare": (), "smoke": (), "standard": (1, 4, 16), "full": (1, 2, 4, 8, 16, 32, 64)}


@scenario("B-13")
def test_exec_sync(bench: Bench) -> None:
    """ExecSync of `true`, of commands with 1 MB and 16 MB of output, and at several levels of concurrency."""
    outputs = OUTPUTS[bench.profile]
    levels = CONCURRENCIES[bench.profile]
    part = bench.seconds / (2 + len(outputs) + len(levels))
    bench.sample(executing("true"), headline="ExecSync", dimensions={"output": "none"}, seconds=2 * part)
    for megabytes in outputs:
        workload = executing(
            "dd", "if=/dev/zero", f"bs={MEGABYTE}", f"count={megabytes}", output_bytes=megabytes * MEGABYTE
        )
        bench.sample(workload, headline="ExecSync", dimensions={"output": f"{megabytes} MB"}, seconds=part)
    for workers in levels:
        bench.concurrently(
            executing("true"), workers=workers, operation="execs", headline="ExecSync", seconds=part
        )


def executing(*command: str, output_bytes: int = 0) -> Workload:
    """Return the workload that repeatedly runs a command in a container.

    Args:
        command: the command.
        output_bytes: size of its standard output.
    """

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with target.sandbox(namespaces=HOST) as sandbox:
            request = cri.ExecSyncRequest(container_id=target.running(sandbox).id, cmd=command, timeout=30)

            def cycle(meter: Meter) -> None:
                response = meter.call("ExecSync", target.runtime.ExecSync, request)
                if response.exit_code or len(response.stdout) != output_bytes:
                    msg = (
                        f"ExecSync exited with {response.exit_code} and {len(response.stdout)} bytes,"
                        f" not 0 and {output_bytes}"
                    )
                    raise NotDone(msg)

            yield cycle

    return prepared
