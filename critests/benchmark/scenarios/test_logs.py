"""Logs: how fast what containers print comes to stand in their files, what that costs, and that rotation
loses nothing.
"""

import contextlib
import itertools
import time
from collections.abc import Iterator

from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.meter import Meter
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.exit_barrier import Release
from critests.benchmark.scenarios.log_throughput import (
    FIRST,
    Log,
    Printing,
    running,
    until,
    until_whole,
    until_written,
)
from critests.benchmark.scenarios.workloads import HOST
from critests.lifecycle.container import Container
from critests.record.samples import BYTES_PER_SECOND, HIGHER, NEITHER, PER_SECOND

PRINTED = {"short": 31, "long": 1023, "longest": 65_535}
"""Width of a line; the CRI lets a runtime split what is longer than 16 KiB."""
SIZE = {"smoke": 1 << 20, "standard": 4 << 20, "full": 16 << 20}
"""Bytes that a container prints."""
AT_ONCE = {"smoke": (), "standard": (4,), "full": (4, 16)}
"""Containers that print at the same time."""
ROTATIONS = 5
LINES, CONTENT, PLAIN_FILE = "lines", "bytes", "bytes to a plain file"
PROCESSOR = "processor time a megabyte"
MEGABYTE = 1_000_000
REOPENED = "ReopenContainerLog"


@scenario("B-17")
def test_logs(bench: Bench) -> None:
    """Lines and bytes a second until the last line stands in the log, by the length of lines and the number
    of containers, and the same with the log rotated meanwhile; every line must stand there once.
    """
    size, several = SIZE[bench.profile], AT_ONCE[bench.profile]
    kinds = ["short"] if bench.profile == "smoke" else list(PRINTED)
    part = bench.seconds / (len(kinds) + len(several) + 1)
    for kind in kinds:
        printing = Printing(size // (PRINTED[kind] + 1), PRINTED[kind])
        bench.sample(
            logging(bench, printing),
            headline=CONTENT,
            dimensions={"containers": "1", "lines": kind},
            seconds=part,
        )
    printing = Printing(size // (PRINTED["short"] + 1), PRINTED["short"])
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


def logging(bench: Bench, printing: Printing, *, containers: int = 1, rotations: int = 0) -> Workload:
    """Return the workload that lets containers print, and looks when it all stands in their logs.

    Args:
        bench: knows what a side's runtime uses.
        printing: what each container prints.
        containers: that print at the same time.
        rotations: of each log while it is written.
    """

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        folder = target.context.run.data_directory / f"printing-{target.side or 'only'}"
        scale, counted = target.connection.deadlines.scale, itertools.count()
        lines_of = folder / f"lines-{printing.width}"
        printing.write(lines_of)

        def cycle(meter: Meter) -> None:
            turn = next(counted)
            plain, made = folder / f"plain-{turn}", list[Container]()
            with Release(folder, f"go-{turn}") as release:
                try:
                    for _ in range(containers):
                        made.append(running(target, sandbox, release, lines_of, plain))
                    for container in made:
                        container.wait_for_log(FIRST.decode())
                    logs, used = [Log(container) for container in made], bench.own_account(target)
                    begin = time.perf_counter()
                    release.let_go(containers)
                    for done in range(rotations):
                        _rotate(target, meter, logs[0], printing.size * (done + 1) / (rotations + 1))
                    seconds = until_whole(logs, printing, scale) - begin
                    _keep(meter, printing, containers, seconds, begin, used())
                    for log in logs:
                        log.check(printing)
                    if containers == 1:
                        begin = time.perf_counter()
                        release.let_go(1)
                        seconds = until_written(plain, printing, scale) - begin
                        rate = printing.size / seconds
                        meter.keep(PLAIN_FILE, rate, begin, unit=BYTES_PER_SECOND, better=NEITHER)
                finally:
                    plain.unlink(missing_ok=True)
                    for container in made:
                        target.discard_container(container.id)

        try:
            with target.sandbox(namespaces=HOST) as sandbox:
                yield cycle
        finally:
            lines_of.unlink()

    return prepared


def _rotate(target: Target, meter: Meter, log: Log, size: float) -> None:
    """Rotate a log once it has so many bytes: rename it, and time the call that opens a new one."""
    until(f"{size:.0f} bytes in the log", lambda: log.size >= size, target.connection.deadlines.scale)
    meter.call(REOPENED, target.runtime.ReopenContainerLog, log.rotate())


def _keep(
    meter: Meter, printing: Printing, containers: int, seconds: float, begin: float, used: dict[str, float]
) -> None:
    """Keep what came to stand in the logs, and what a megabyte of it cost the runtime."""
    count, size = printing.count * containers, printing.size * containers
    meter.keep(LINES, count / seconds, begin, unit=PER_SECOND, better=HIGHER)
    meter.keep(CONTENT, size / seconds, begin, unit=BYTES_PER_SECOND, better=HIGHER)
    if "cpu_seconds" in used:
        meter.keep(PROCESSOR, used["cpu_seconds"] / (size / MEGABYTE), begin)
