"""A made-up store as large as a year of nights makes it, the same for the same seed.

`python -m tests.report.dashboard.synthetic DIR` fills one and measures how long its site takes.
It is made in the index, not from files: thirteen million verdicts as run records would be fourteen gigabytes.
"""

import random
import resource
import sys
import time
from pathlib import Path

from critests import catalogue
from critests.report.dashboard import Options, build
from critests.report.store import Index, Point, SeriesSummary
from tests.report.store.small_run import entry

NOW = 1_795_180_000.0
DAY = 86_400
RUNTIMES = ("containerd", "cri-o", "youki-cri", "kata")
REASON = "CreateContainer: FAILED_PRECONDITION: no such <sandbox>"


def fill(
    index: Index,
    *,
    lines: int = 40,
    nights: int = 365,
    requirements: int = 900,
    series: int = 20,
    seed: int = 1,
) -> None:
    """Add so many runtime versions with so many nights to an index."""
    source = random.Random(seed)  # noqa: S311 - a repeatable sequence is wanted
    names = [entry.id for entry in catalogue.load().requirements][:requirements]
    names += [f"ZZZ-{number}" for number in range(requirements - len(names))]
    index.number_requirements(names)
    names = index.requirements()
    count = len(names)
    keys = [
        index.add_series(
            SeriesSummary(
                number=0,
                scenario=f"B-{number:02}",
                operation=f"operation {number}",
                dimensions={"containers": str(10 ** (number % 3))},
                unit="s",
                better="lower",
                headline=number % 2 == 0,
            )
        )
        for number in range(series)
    ]
    for line in range(lines):
        runtime, version = RUNTIMES[line % len(RUNTIMES)], f"{1 + line // 20}.{line // len(RUNTIMES)}.0"
        forms = {names[0]: f"form {line % 3}"}
        _add_line(index, source, (runtime, version), nights, count, names, keys, forms)
        index.commit()


def _add_line(
    index: Index,
    source: random.Random,
    line: tuple[str, str],
    nights: int,
    count: int,
    names: list[str],
    keys: list[int],
    forms: dict[str, str],
) -> None:
    letters = source.choices("PUKWB", weights=[860, 60, 20, 10, 10], k=count)
    flaky = source.sample(range(count), 4)
    # of its own, so that the measurements do not depend on the requirements
    measured = random.Random(f"{line} 1")  # noqa: S311 - a repeatable sequence is wanted
    level = [measured.uniform(0.001, 1.0) for _ in keys]
    points: list[tuple[int, Point]] = []
    for night in range(nights):
        if source.random() < 0.1:
            letters[source.randrange(count)] = source.choice("FPPWU")
        tonight = letters.copy()
        for place in flaky:
            if source.random() < 0.08:
                tonight[place] = "F"
        if measured.random() < 0.02:
            level[measured.randrange(len(keys))] *= measured.choice((0.8, 1.3))
        started = NOW - (nights - night) * DAY + source.uniform(0, 600)
        failed = [names[place] for place in range(count) if tonight[place] == "F"]
        known = {"runtime": line[0], "path": f"{line[0]}/{line[1]}/{int(started)}", "forms": forms}
        index.add_entry(
            entry(
                started,
                line[1],
                exit_code=1 if failed else 0,
                exit_reason="a MUST is broken" if failed else "every MUST is kept",
                letters="".join(tonight),
                reasons=dict.fromkeys(failed, REASON),
                report=True,
                **known,
            )
        )
        bench = index.add_entry(entry(started + 200, line[1], kind="benchmark", runtime=line[0]))
        for key, value in zip(keys, level, strict=True):
            middle = value * measured.lognormvariate(0, 0.04)
            tail = 0.99, middle * 2
            points.append((key, Point(bench, 1000, middle, middle * 0.97, middle * 1.03, *tail)))
    index.add_points(points)


def main() -> None:
    """Fill a store of full size, build its site, and print what that took."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with Index(folder / "index.sqlite") as index:
        began = time.perf_counter()
        if not index.lines():
            fill(index)
        print(
            f"filled in {time.perf_counter() - began:.1f} s,"
            f" {(folder / 'index.sqlite').stat().st_size / 1e6:.0f} MB"
        )
        began, worked = time.perf_counter(), time.process_time()
        built = build(index, folder / "site", Options(now=NOW, run_links="../../"))
        print(
            f"built in {time.perf_counter() - began:.1f} s, {time.process_time() - worked:.1f} s of processor"
            f" time: {built}"
        )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
