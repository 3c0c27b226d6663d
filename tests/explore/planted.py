"""Bugs that were planted in the suite's own CRI server, and whether an exploration finds them: `python -m
tests.explore.planted [WRONG …]` explores with each of them, or with the named ones, and counts.
"""

import contextlib
import itertools
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from critests.explore.exploration_state import StoppedExploration
from critests.explore.exploring import Exploration, ExplorationResult
from critests.explore.sequence_runner import SequenceRunner
from critests.lifecycle.cgroup_parents import CgroupDriver
from critests.lifecycle.requests import ImageName, pulling
from tests.criserver import CriServer, ImageConfig
from tests.criserver.connected import connected, requests_in

SECONDS, MOST_STEPS = 300.0, 30
LONGEST = 8
"""Most steps that the shortest sequence may have."""
BASE = "example.test/base:1"


class Pullable(dict[str, ImageConfig]):
    """Images of sequences: any name with this prefix can be pulled."""

    def get(self, name: str, default: ImageConfig | None = None) -> ImageConfig | None:  # type: ignore[override]  # the table is read by name only
        number = name.partition(":")[0].rpartition("-")[2]
        if name.startswith("example.test/image-") and number.isdigit():
            return ImageConfig(env=[f"NUMBER={number}"])
        return super().get(name, default)


def images_of_sequences() -> Callable[[], dict[str, tuple[str, ...]]]:
    numbers = itertools.count(1)

    def images() -> dict[str, tuple[str, ...]]:
        one, two = (f"example.test/image-{next(numbers)}" for _ in range(2))
        return {"image-1": (f"{one}:1",), "image-2": (f"{two}:first", f"{two}:second")}

    return images


@dataclass(frozen=True)
class Bug:
    """A row of planted.toml."""

    wrong: str
    breaks: list[str]
    clients: int = 1


BUGS = {
    row["wrong"]: Bug(**row)
    for row in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["bugs"]
}


def server_with(*wrong: str) -> CriServer:
    server = CriServer(wrong=wrong, images=Pullable({BASE: ImageConfig(cmd=["sh"])}))
    server.services.attaches = True
    return server


@contextlib.contextmanager
def runner_on(server: CriServer, logs: Path) -> Iterator[SequenceRunner]:
    with connected(server) as connection:
        requests = requests_in(logs, CgroupDriver.UNKNOWN)
        base = connection.images.PullImage(pulling(BASE)).image_ref
        yield SequenceRunner(connection, requests, ImageName(base, BASE), images_of_sequences())


def explored(
    logs: Path, wrong: str, seed: int = 1, seconds: float = SECONDS, clients: int = 1
) -> ExplorationResult:
    """Explore the CRI server with a planted bug, or without one and with so many clients."""
    with runner_on(server_with(*([wrong] if wrong else [])), logs) as runner:
        clients = BUGS[wrong].clients if wrong else clients
        return Exploration(
            runner, StoppedExploration(seed), seconds, MOST_STEPS, most_findings=1, clients=clients
        ).run()


def found_as(wrong: str, found: ExplorationResult) -> str:
    """Return why a planted bug does not count as found; empty if it does."""
    if not found.findings:
        return "nothing found"
    finding = found.findings[0]
    if finding.breach.aspect.partition("/")[0] not in BUGS[wrong].breaks:
        return f"reported as {finding.breach}"
    steps = sum(map(len, finding.groups))
    if steps > LONGEST:
        return f"{steps} steps"
    # races need not reproduce every time
    enough = finding.reproduced == finding.tries if BUGS[wrong].clients == 1 else finding.reproduced > 0
    return "" if enough else f"reproduced in {finding.reproduced} of {finding.tries}"


def main() -> None:
    names = sys.argv[1:] or list(BUGS)
    missed = 0
    for wrong in names:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as logs:
            found = explored(Path(logs), wrong)
        why = found_as(wrong, found)
        missed += bool(why)
        finding = found.findings[0] if found.findings else None
        steps = sum(map(len, finding.groups)) if finding else 0
        print(
            f"{'missed' if why else 'found'} {wrong}: {steps} steps, {time.monotonic() - begun:.1f} s {why}",
            finding.breach if finding else "",
            flush=True,
        )
    print(f"{len(names) - missed} of {len(names)} found")


if __name__ == "__main__":
    main()
