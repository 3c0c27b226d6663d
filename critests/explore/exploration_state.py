"""The state of an ended exploration, from which another one resumes: its rounds, what they covered, and what
was reported.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from critests.exit_codes import UsageError
from critests.explore.step_generator import Place

STATE_FILE = "explore.json"
"""File of an exploration in the folder of its run."""


@dataclass(frozen=True)
class StoppedExploration:
    """The state of an exploration at its end.

    Attributes:
        seed: of its random choices.
        rounds: that it began.
        covered: how often they covered each place.
        reported: kinds of the breaches that it, or an exploration before it, reported.
    """

    seed: int
    rounds: int = 0
    covered: Counter[Place] = field(default_factory=Counter)
    reported: frozenset[tuple[str, str, str]] = frozenset()

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "seed": self.seed,
            "rounds": self.rounds,
            "places": [[*place, count] for place, count in sorted(self.covered.items())],
            "told": [list(kind) for kind in sorted(self.reported)],
        }


def read(folder: Path) -> StoppedExploration:
    """Read the state of an exploration from the folder of its run.

    Raises:
        UsageError: there is none.
    """
    path = folder / STATE_FILE
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
