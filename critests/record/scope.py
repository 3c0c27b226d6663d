"""How much of the suite a run covers."""

from collections.abc import Sequence
from typing import Final

from critests.exit_codes import ExitCode
from critests.record.run_record import RunScope

COMPLETE: Final = frozenset({ExitCode.NO_NEW_FAILURE, ExitCode.BROKEN})
"""Exit codes of completed runs with a verdict."""


def joined(scopes: Sequence[RunScope], musts_judged: int) -> RunScope:
    """Return the scope of several runs together.

    Args:
        scopes: Of the parts.
        musts_judged: Of the whole.
    """
    selections = list(dict.fromkeys(scope.selection for scope in scopes))
    shards = sorted({shard for scope in scopes for shard in scope.shards})
    limit, not_begun = max(scope.time_limit for scope in scopes), sum(scope.not_begun for scope in scopes)
    musts_not_begun = sum(scope.musts_not_begun for scope in scopes)
    if any(not scope.shards and not scope.selection and not scope.time_limit for scope in scopes):
        selections, shards, limit, not_begun, musts_not_begun = [""], [], 0.0, 0, 0
    elif len(selections) == 1 and (_all_parts(shards) or any(not scope.shards for scope in scopes)):
        shards = []
    return RunScope(
        selection=" | ".join(filter(None, selections)),
        shards=shards,
        musts_judged=musts_judged,
        musts=max(scope.musts for scope in scopes),
        time_limit=limit,
        not_begun=not_begun,
        musts_not_begun=musts_not_begun,
    )


def _all_parts(shards: Sequence[str]) -> bool:
    parts = {shard.partition("/")[2] for shard in shards}
    return len(parts) == 1 and len(shards) == int(parts.pop() or 0)
