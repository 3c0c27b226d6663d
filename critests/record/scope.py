"""How much of the suite a run was about: a run of one test says nothing of the rest."""

from collections.abc import Sequence
from typing import Final

from critests.catalogue.words import Outcome
from critests.exit_codes import ExitCode
from critests.record.run_record import RunRecord, RunScope

COMPLETE: Final = frozenset({ExitCode.CONFORMS, ExitCode.BROKEN})
"""Exit codes of runs that came to their end and judged."""


def partial(record: RunRecord) -> str:
    """Say why a run is not one of the whole suite, brought to its end; empty where it is.

    A record of an earlier version does not tell its choice; there, tests that were deselected show it.
    """
    if record.interrupted:
        return "interrupted"
    if record.scope is not None:
        return record.scope.in_words()
    left_out = record.counts.outcomes.get(Outcome.DISABLED.value, 0)
    return f"{left_out} tests left out" if left_out else ""


def joined(scopes: Sequence[RunScope | None], musts_judged: int) -> RunScope | None:
    """Return what several runs were about together; None where one of them does not tell.

    Args:
        scopes: Those of the parts.
        musts_judged: Of the whole.
    """
    known = [scope for scope in scopes if scope is not None]
    if len(known) < len(scopes) or not known:
        return None
    selections = list(dict.fromkeys(scope.selection for scope in known))
    shards = sorted({shard for scope in known for shard in scope.shards})
    if any(not scope.shards and not scope.selection for scope in known):
        selections, shards = [""], []
    elif len(selections) == 1 and (_all_parts(shards) or any(not scope.shards for scope in known)):
        shards = []
    return RunScope(
        selection=" | ".join(filter(None, selections)),
        shards=shards,
        musts_judged=musts_judged,
        musts=max(scope.musts for scope in known),
    )


def _all_parts(shards: Sequence[str]) -> bool:
    parts = {shard.partition("/")[2] for shard in shards}
    return len(parts) == 1 and len(shards) == int(parts.pop() or 0)
