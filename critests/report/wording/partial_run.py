"""Which part of the suite a run covers, in words."""

from critests.record.run_record import RunRecord


def partial(record: RunRecord) -> str:
    """Return why a run is not a completed run of the whole suite, and how much of it was judged; empty if it
    is.
    """
    if record.interrupted:
        return "interrupted"
    scope = record.scope
    shards = f"shard {', '.join(scope.shards)}" if scope.shards else ""
    limit = (
        f"time limit of {scope.time_limit:g} s, {scope.not_begun} tests not begun" if scope.time_limit else ""
    )
    chosen = ", ".join(filter(None, [scope.selection, shards, limit]))
    return f"{chosen}; {scope.musts_judged} of {scope.musts} MUSTs judged" if chosen else ""
