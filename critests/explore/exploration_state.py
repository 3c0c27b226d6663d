"""Where an exploration goes on that was ended: its rounds, what they covered, and what was told already."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from critests.exit_codes import UsageError
from critests.explore.step_generator import Place

NAME = "explore.json"
"""The file of an exploration, in the folder of its run."""


@dataclass(frozen=True)
class StoppedExploration:
    """What an exploration was ended with.

    Attributes:
        seed: of its random choices.
        rounds: that it began.
        covered: how often they covered each place.
        told: the breaches that it reported, and those that an exploration before it did.
    """

    seed: int
    rounds: int = 0
    covered: Counter[Place] = field(default_factory=Counter)
    told: frozenset[tuple[str, str, str]] = frozenset()

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "seed": self.seed,
            "rounds": self.rounds,
            "places": [[*place, count] for place, count in sorted(self.covered.items())],
            "told": [list(kind) for kind in sorted(self.told)],
        }


def read(folder: Path) -> StoppedExploration:
    """Read what an exploration was ended with, from the folder of its run.

    Raises:
        UsageError: there is none.
    """
    path = folder / NAME
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))["resume"]
        return StoppedExploration(
            int(plain["seed"]),
            int(plain["rounds"]),
            Counter({(rpc, situation): count for rpc, situation, count in plain["places"]}),
            frozenset((aspect, what, rpc) for aspect, what, rpc in plain["told"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = f"{path}: no exploration to resume: {error}"
        raise UsageError(msg) from error
