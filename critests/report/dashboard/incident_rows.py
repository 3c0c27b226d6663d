"""The incidents of a runtime as the pages show them: what broke, from when to when, and what differed."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from critests.catalogue.words import Outcome
from critests.report.dashboard.lines import Promise, RuntimeLine
from critests.report.facts.run_parts import PartDifference, differing_parts
from critests.report.store import RunEntry
from critests.report.store.history import RECENT, stamp
from critests.report.store.letters import RANK, WORDS
from critests.report.wording.texts import plural


@dataclass(frozen=True, kw_only=True)
class IncidentRow:
    """An incident, or runs that judged nothing.

    Attributes:
        line: The runtime and version.
        first: The run in which it began.
        last: The newest run that shows it.
        over: The run since which all is as before; None while it goes on.
        runs: Number of runs from `first` to `last`.
        promises: The requirements that broke; empty where the runs judged nothing. Of the first one, `why`
            says what was observed.
        tone: Outcome with whose colour it is shown while it goes on.
        why: What was observed of the first of them, or why nothing was judged.
        differences: What took part in `first` and was different in the run before.
        earlier: The newest earlier run in which half of them were broken, or None.
    """

    line: RuntimeLine
    first: RunEntry
    last: RunEntry
    over: RunEntry | None
    runs: int
    promises: Sequence[Promise]
    tone: str
    why: str
    differences: Sequence[PartDifference]
    earlier: RunEntry | None = None


def incident_rows(line: RuntimeLine, promises: Sequence[Promise]) -> list[IncidentRow]:
    """Return the incidents that began in the newest runs of a line, the newest first; of a line of several
    versions none.
    """
    if line.mixed:
        return []
    found = [*_of_requirements(line, promises), *_without_verdicts(line)]
    return sorted(found, key=lambda row: -row.first.started)


def again_or_over(rows: Sequence[IncidentRow], run: str) -> str:
    """Return when what broke in a run was broken before, or else which incidents it ended, in a sentence;
    empty if neither.

    Args:
        rows: The incidents.
        run: Folder of the run relative to the root of the results.
    """
    for row in rows:
        if row.first.path == run and row.earlier is not None:
            return f"Broken again, as on {stamp(row.earlier.started)}."
    ended = [row for row in rows if row.over is not None and row.over.path == run]
    return f"Good again: {'; '.join(map(_ended, ended))}." if ended else ""


def _ended(row: IncidentRow) -> str:
    what = f"{row.promises[0].title} ({row.promises[0].id})" if row.promises else "nothing could be tested"
    more = f" and {plural(len(row.promises) - 1, 'more requirement')}" if len(row.promises) > 1 else ""
    return f"{what}{more}, from {stamp(row.first.started)} on"


def _of_requirements(line: RuntimeLine, promises: Sequence[Promise]) -> list[IncidentRow]:
    at = {promise.place: promise for promise in promises}
    rows = []
    for incident in line.incidents:
        broken = [at[place] for place in incident.places if place in at]
        if not broken:
            continue
        first = line.runs[incident.first]
        broken.sort(key=lambda each: (RANK[first.letters[each.place]], each.id not in first.reasons))
        rows.append(
            IncidentRow(
                line=line,
                first=first,
                last=line.runs[incident.last],
                over=None if incident.over is None else line.runs[incident.over],
                runs=incident.first - incident.last + 1,
                promises=broken,
                tone=WORDS[first.letters[broken[0].place]],
                why=first.reasons.get(broken[0].id, ""),
                differences=differing_parts(line.runs[incident.good].parts, first.parts),
                earlier=None if incident.earlier is None else line.runs[incident.earlier],
            )
        )
    return rows


def _without_verdicts(line: RuntimeLine) -> list[IncidentRow]:
    rows = []
    for nothing, members in groupby(enumerate(line.runs[:RECENT]), key=lambda item: item[1].judged_nothing):
        runs = list(members)
        if nothing:
            (newest, last), (oldest, first) = runs[0], runs[-1]
            before = line.runs[oldest + 1 : oldest + 2]
            rows.append(
                IncidentRow(
                    line=line,
                    first=first,
                    last=last,
                    over=line.runs[newest - 1] if newest else None,
                    runs=len(runs),
                    promises=(),
                    tone=Outcome.FAILED.value,
                    why=first.exit_reason,
                    differences=differing_parts(before[0].parts, first.parts) if before else (),
                )
            )
    return rows
