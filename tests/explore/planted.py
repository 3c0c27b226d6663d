"""Bugs that were planted in our own server, and what an exploration finds of them: `python -m
tests.explore.planted [WRONG …]` plays all of them, or those that are named, and counts.
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

from critests.client.connection import connect
from critests.client.deadlines import Deadlines
from critests.client.endpoint import Endpoint
from critests.explore.exploration_state import StoppedExploration
from critests.explore.exploring import Exploration, Explored
from critests.explore.sequence_runner import Player
from critests.lifecycle.cgroup_parents import CgroupDriver, CgroupParents
from critests.lifecycle.requests import ImageName, RequestBuilder, pulling
from critests.lifecycle.run_label import RunIdentity
from tests.criserver import CriServer, ImageConfig, serve

SECONDS, MOST_STEPS = 300.0, 30
LONGEST = 8
"""Steps of the shortest sequence."""
BASE = "example.test/base:1"


class Pullable(dict[str, ImageConfig]):
    """Every sequence pulls images of its own: any name that begins so leads to one."""

    def get(self, name: str, default: ImageConfig | None = None) -> ImageConfig | None:  # type: ignore[override]  # the table is asked for names only
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


def our_own_server(*wrong: str) -> CriServer:
    server = CriServer(wrong=wrong, images=Pullable({BASE: ImageConfig(cmd=["sh"])}))
    server.services.attaches = True
    return server


@contextlib.contextmanager
def player_on(server: CriServer, logs: Path) -> Iterator[Player]:
    with serve(server) as endpoint:
        connection = connect(Endpoint.parse(endpoint), deadlines=Deadlines())
        run = RunIdentity.new()
        requests = RequestBuilder(run, logs, CgroupParents(run, CgroupDriver.UNKNOWN))
        base = connection.images.PullImage(pulling(BASE)).image_ref
        try:
            yield Player(connection, requests, ImageName(base, BASE), images_of_sequences())
        finally:
            connection.close()


def explored(logs: Path, wrong: str, seed: int = 1, seconds: float = SECONDS, clients: int = 1) -> Explored:
    """Explore our own server with a planted bug, or with none and so many clients."""
    with player_on(our_own_server(*([wrong] if wrong else [])), logs) as player:
        clients = BUGS[wrong].clients if wrong else clients
        return Exploration(
            player, StoppedExploration(seed), seconds, MOST_STEPS, most_findings=1, clients=clients
        ).run()


def found_as(wrong: str, found: Explored) -> str:
    """Return why a planted bug does not count as found, empty where it does."""
    if not found.findings:
        return "nothing found"
    finding = found.findings[0]
    if finding.breach.aspect.partition("/")[0] not in BUGS[wrong].breaks:
        return f"told as {finding.breach}"
    steps = sum(map(len, finding.beats))
    if steps > LONGEST:
        return f"{steps} steps"
    # what overlaps need not overlap again
    enough = finding.again == finding.tries if BUGS[wrong].clients == 1 else finding.again > 0
    return "" if enough else f"came again in {finding.again} of {finding.tries}"


def main() -> None:
    wanted = sys.argv[1:] or list(BUGS)
    missed = 0
    for wrong in wanted:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as logs:
            found = explored(Path(logs), wrong)
        why = found_as(wrong, found)
        missed += bool(why)
        said = found.findings[0] if found.findings else None
        steps = sum(map(len, said.beats)) if said else 0
        print(
            f"{'missed' if why else 'found'} {wrong}: {steps} steps, {time.monotonic() - begun:.1f} s {why}",
            said.breach if said else "",
            flush=True,
        )
    print(f"{len(wanted) - missed} of {len(wanted)} found")


if __name__ == "__main__":
    main()
