"""Logs: throughput from the output of containers to their log files, its CPU cost, and rotation without
loss.
"""

import contextlib
import itertools
import time
from collections.abc import Iterator

from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.meter import Meter
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.exit_barrier import ExitBarrier
from critests.benchmark.scenarios.log_throughput import (
    READY,
    PrintedLines,
    RotatedLog,
    start_printing,
    wait_for_complete_logs,
    wait_for_plain_file,
    wait_until,
)
from critests.benchmark.scenarios.workloads import HOST
from critests.lifecycle.container import Container
from critests.record.units import BYTES_PER_SECOND, HIGHER, NEITHER, PER_SECOND

PRINTED = {"short": 31, "long": 1023, "longest": 65_535}
"""Width of a line; the CRI lets a runtime split what is longer than 16 KiB."""
SIZE = {"smoke": 1 << 20, "standard": 4 << 20, "full": 16 << 20}
"""Bytes that a container prints."""
SIMULTANEOUS = {"smoke": (), "standard": (4,), "full": (4, 16)}
"""Containers that print simultaneously."""
ROTATIONS = 5
LINES, CONTENT, PLAIN_FILE = "lines", "bytes", "bytes to a plain file"
PROCESSOR = "processor time a megabyte"
MEGABYTE = 1_000_000
REOPENED = "ReopenContainerLog"


@scenario("B-17")
def test_logs(bench: Bench) -> None:
    """Lines and bytes per second until the log holds the last line, by line length and number of containers,
    and with rotation during the output; the log must hold every line exactly once.
    """
    size, several = SIZE[bench.profile], SIMULTANEOUS[bench.profile]
    kinds = ["short"] if bench.profile == "smoke" else list(PRINTED)
    part = bench.seconds / (len(kinds) + len(several) + 1)
    for kind in kinds:
        printing = PrintedLines(size // (PRINTED[kind] + 1), PRINTED[kind])
        bench.sample(
            logging(bench, printing),
            headline=CONTENT,
            dimensions={"containers": "1", "lines": kind},
            seconds=part,
        )
    printing = PrintedLines(size // (PRINTED["short"] + 1), PRINTED["short"])
    for number in several:
        bench.sample(
            logging(bench, printing, containers=number),
            headline=CONTENT,
            dimensions={"containers": str(number), "lines": "short"},
            seconds=part,
        )
    bench.sample(
        logging(bench, printing, rotations=ROTATIONS),
        headline=REOPENED,
        dimensions={"containers": "1", "lines": "short", "rotations": str(ROTATIONS)},
        seconds=part,
    )


def logging(bench: Bench, printing: PrintedLines, *, containers: int = 1, rotations: int = 0) -> Workload:
    """Return the workload in which containers print, timed until their logs are complete.

    Args:
        bench: accounts for the resources that a side's runtime uses.
        printing: the lines of each container.
        containers: number of containers that print simultaneously.
        rotations: rotations of each log during the output.
    """

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        folder = target.context.run.data_directory / f"printing-{target.side or 'only'}"
        scale, counted = target.connection.deadlines.scale, itertools.count()
        lines_of = folder / f"lines-{printing.width}"
        printing.write(lines_of)

        def cycle(meter: Meter) -> None:
            turn = next(counted)
            plain, started = folder / f"plain-{turn}", list[Container]()
            with ExitBarrier(folder, f"go-{turn}") as barrier:
                try:
                    for _ in range(containers):
                        started.append(start_printing(target, sandbox, barrier, lines_of, plain))
                    for container in started:
                        container.wait_for_log(READY.decode())
                    logs, usage = (
                        [RotatedLog(container) for container in started],
                        bench.account_usage(target),
                    )
                    begin = time.perf_counter()
                    barrier.release(containers)
                    for done in range(rotations):
                        _rotate(target, meter, logs[0], printing.size * (done + 1) / (rotations + 1))
                    seconds = wait_for_complete_logs(logs, printing, scale) - begin
                    _add_throughput(meter, printing, containers, seconds, begin, usage())
                    for log in logs:
                        log.check(printing)
                    if containers == 1:
                        begin = time.perf_counter()
                        barrier.release(1)
                        seconds = wait_for_plain_file(plain, printing, scale) - begin
                        rate = printing.size / seconds
                        meter.add(PLAIN_FILE, rate, begin, unit=BYTES_PER_SECOND, better=NEITHER)
                finally:
                    plain.unlink(missing_ok=True)
                    for container in started:
                        target.discard_container(container.id)

        try:
            with target.sandbox(namespaces=HOST) as sandbox:
                yield cycle
        finally:
            lines_of.unlink()

    return prepared


def _rotate(target: Target, meter: Meter, log: RotatedLog, size: float) -> None:
    """Rotate a log once it has a number of bytes: rename it, and time ReopenContainerLog."""
    wait_until(f"{size:.0f} bytes in the log", lambda: log.size >= size, target.connection.deadlines.scale)
    meter.call(REOPENED, target.runtime.ReopenContainerLog, log.rotate())


def _add_throughput(
    meter: Meter,
    printing: PrintedLines,
    containers: int,
    seconds: float,
    begin: float,
    used: dict[str, float],
) -> None:
    """Store the throughput to the logs, and the CPU time of the runtime per megabyte."""
    count, size = printing.count * containers, printing.size * containers
    meter.add(LINES, count / seconds, begin, unit=PER_SECOND, better=HIGHER)
    meter.add(CONTENT, size / seconds, begin, unit=BYTES_PER_SECOND, better=HIGHER)
    if "cpu_seconds" in used:
        meter.add(PROCESSOR, used["cpu_seconds"] / (size / MEGABYTE), begin)
