"""Which part of the suite a run covers, in words."""

from critests.catalogue.words import Outcome
from critests.record.run_record import RunRecord, RunScope


def partial(record: RunRecord) -> str:
    """Return why a run is not a completed run of the whole suite; empty if it is.

    A record of an earlier version has no selection; there, deselected tests show it.
    """
    if record.interrupted:
        return "interrupted"
    if record.scope is not None:
        return selection_of(record.scope)
    left_out = record.counts.outcomes.get(Outcome.DISABLED.value, 0)
    return f"{left_out} tests left out" if left_out else ""


def selection_of(scope: RunScope) -> str:
    """Return the selection and how much of it was judged; empty for the whole suite."""
    shards = f"shard {', '.join(scope.shards)}" if scope.shards else ""
    limit = (
        f"time limit of {scope.time_limit:g} s, {scope.not_begun} tests not begun" if scope.time_limit else ""
    )
    chosen = ", ".join(filter(None, [scope.selection, shards, limit]))
    return f"{chosen}; {scope.musts_judged} of {scope.musts} MUSTs judged" if chosen else ""
