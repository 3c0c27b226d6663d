"""ExecSync, the most frequent of the calls that do something: its latency, with output, and many at once."""

import contextlib
from collections.abc import Iterator

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.workloads import HOST

MEGABYTE = 1_000_000
"""Not 2**20: the largest message that runtimes send is 16 MiB, and the answer is more than the output."""
CONCURRENCIES = {"smoke": (), "standard": (1, 4, 16), "full": (1, 2, 4, 8, 16, 32, 64)}


@scenario("B-13")
def test_exec_sync(bench: Bench) -> None:
    """ExecSync of `true`, with 1 MB and 16 MB of output, and at several concurrencies."""
    outputs = (1,) if bench.profile == "smoke" else (1, 16)
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
    """Return the workload that runs a command in a container again and again.

    Args:
        command: what is run.
        output_bytes: what it prints on standard output.
    """

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with target.sandbox(namespaces=HOST) as sandbox:
            request = cri.ExecSyncRequest(container_id=target.running(sandbox).id, cmd=command, timeout=30)

            def cycle(meter: Meter) -> None:
                answer = meter.call("ExecSync", target.runtime.ExecSync, request)
                if answer.exit_code or len(answer.stdout) != output_bytes:
                    msg = (
                        f"ExecSync ended with {answer.exit_code} and {len(answer.stdout)} bytes of output,"
                        f" not 0 and {output_bytes}"
                    )
                    raise NotDone(msg)

            yield cycle

    return prepared
