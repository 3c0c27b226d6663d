"""What changed with a run: what broke, was fixed or became flaky since the runs of the same runtime before.

A notice is a JSON document (`to_json`); `critests.report.notices.delivery` brings it to somebody.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from critests.exit_codes import ExitCode
from critests.record.versions import parse_version
from critests.report.store import Index, RunEntry
from critests.report.store.history import FLAKY_CHANGES, RECENT, changes, histories
from critests.report.store.letters import DEVIATING, JUDGED, UNTESTED, WORDS
from critests.report.wording.texts import one_line

SCHEMA: Final = "critests.notice"
SCHEMA_VERSION: Final = 1
CHANGES_LIMIT: Final = 50
"""Changes that a notice names; it counts all of them."""
STEADY: Final = 3
"""A flaky requirement that failed in so many runs in a row is broken."""
COMPLETE: Final = frozenset({ExitCode.CONFORMS, ExitCode.BROKEN})
LOST: Final = frozenset("UBE")


class Changed(StrEnum):
    """How a state changed."""

    BROKEN = "broken"
    FIXED = "fixed"
    FLAKY = "flaky"


@dataclass(frozen=True)
class StateChange:
    """One requirement whose state changed.

    Attributes:
        requirement: Its id.
        state: What it is now.
        before: The verdict before.
        now: The verdict now.
        reason: Why, where the run says so.
    """

    requirement: str
    state: Changed
    before: str
    now: str
    reason: str = ""


@dataclass(frozen=True)
class Notice:
    """What changed with a run.

    Attributes:
        run: The run.
        baseline: The last complete run, for a run of the whole suite the last such one; or None.
        changes: The requirements whose state changed, the broken ones first.
        ended_otherwise: It could not be completed and the run before could, or the other way round.
    """

    run: RunEntry
    baseline: RunEntry | None
    changes: list[StateChange]
    ended_otherwise: bool = False

    @property
    def worth_sending(self) -> bool:
        """Whether anything changed."""
        return bool(self.changes) or self.ended_otherwise

    @property
    def summary(self) -> str:
        """One sentence."""
        counted = Counter(change.state for change in self.changes)
        what = (
            ", ".join(f"{counted[state]} {state.value}" for state in Changed if counted[state])
            or "no requirement changed"
        )
        end = f"; {self.run.exit_reason}" if self.ended_otherwise else ""
        part = f" (in part only: {self.run.partial})" if self.run.partial else ""
        return one_line(f"{self.run.runtime} {self.run.version}{part}: {what}{end}")


def notice_of(index: Index, run: RunEntry) -> Notice:
    """Compare a validation run with what was known of its runtime before.

    It is compared with the earlier runs of the same version; a version that is new with the nearest one below
    it. A requirement's verdict
    before is the newest one among their last complete runs: a small run between two full ones hides nothing.
    Passed and now failed, warned, unsupported or blocked is broken; of a run that could not be completed only
    failures count. What came and went without a change of version is flaky, and is told when it becomes so,
    and as broken once it failed in three runs in a row.
    """
    before = [
        entry
        for entry in index.runs(runtime=run.runtime, kind=run.kind)
        if (entry.started, entry.path) < (run.started, run.path)
    ]
    version = _version_before(run, before)
    earlier = [entry for entry in before if entry.version == version]
    complete = [entry for entry in earlier if _complete(entry)][:RECENT]
    names = index.requirements()
    found = []
    for name, history in zip(names, histories([run, *complete], len(names)), strict=True):
        state = _state(history, same_version=version == run.version, complete_run=_complete(run))
        if state is not None:
            last = next(letter for letter in history[1:] if letter != UNTESTED)
            found.append(StateChange(name, state, WORDS[last], WORDS[history[0]], run.reasons.get(name, "")))
    found.sort(key=lambda change: list(Changed).index(change.state))
    ended_otherwise = bool(earlier) and _complete(earlier[0]) != _complete(run)
    alike = [entry for entry in complete if entry.whole] if run.whole else complete
    baseline = next(iter(alike or complete), None)
    return Notice(run, baseline, found, ended_otherwise)


def to_json(notice: Notice) -> dict[str, Any]:
    """Return the document that is sent; `text` makes it readable for chat services that show only that."""
    counted = Counter(change.state.value for change in notice.changes)
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "text": "\n".join([notice.summary, *(_line(change) for change in notice.changes[:10])]),
        "runtime": one_line(notice.run.runtime),
        "version": one_line(notice.run.version),
        "run": run_as_json(notice.run),
        "baseline": run_as_json(notice.baseline) if notice.baseline else None,
        "counts": {state.value: counted[state.value] for state in Changed},
        "changes": [
            {
                "requirement": one_line(change.requirement, 100),
                "state": change.state.value,
                "before": change.before,
                "now": change.now,
                "reason": one_line(change.reason),
            }
            for change in notice.changes[:CHANGES_LIMIT]
        ],
        "left_out": max(len(notice.changes) - CHANGES_LIMIT, 0),
    }


def _version_before(run: RunEntry, before: Sequence[RunEntry]) -> str:
    """Return the version to compare with: the same, else the highest one below it, else that of the newest
    run.
    """
    versions = {entry.version: parse_version(entry.version) for entry in reversed(before)}
    mine = parse_version(run.version)
    if run.version in versions or not versions:
        return run.version
    lower = [
        (found.key(), text)
        for text, found in versions.items()
        if found and mine and found.key() <= mine.key()
    ]
    return max(lower)[1] if lower else before[0].version


def _state(history: str, *, same_version: bool, complete_run: bool) -> Changed | None:
    """Say how a requirement's state changed with its newest verdict."""
    now = history[0]
    last = next((letter for letter in history[1:] if letter != UNTESTED), "")
    if not last or now == UNTESTED or (not complete_run and now in LOST):
        return None
    if same_version and now in JUDGED and changes(history) >= FLAKY_CHANGES:
        if now != last and changes(history[1:]) < FLAKY_CHANGES:
            return Changed.FLAKY
        judged = [letter for letter in history if letter in JUDGED]
        fails = next((place for place, letter in enumerate(judged) if letter != "F"), len(judged))
        return Changed.BROKEN if fails == STEADY else None
    if now in {last, "K"}:
        return None
    if (last == "P" and now != "P") or (now == "F" and last not in DEVIATING):
        return Changed.BROKEN
    return Changed.FIXED if now == "P" and last in DEVIATING else None


def _complete(run: RunEntry) -> bool:
    return run.exit_code in COMPLETE and not run.interrupted


def _line(change: StateChange) -> str:
    reason = f": {one_line(change.reason, 120)}" if change.reason else ""
    return (
        f"{one_line(change.requirement, 100)} {change.state.value} ({change.before}, now"
        f" {change.now}){reason}"
    )


def run_as_json(run: RunEntry) -> dict[str, Any]:
    """Return what a notice says of a run."""
    return {
        "id": one_line(run.run_id),
        "version": one_line(run.version),
        "path": one_line(run.path),
        "started": run.started,
        "exit_code": run.exit_code,
        "exit_reason": one_line(run.exit_reason),
    }
