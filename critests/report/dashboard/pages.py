"""The pages of the site, with the same escaping as the report of a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final
from urllib.parse import quote

from jinja2 import Environment

import critests
from critests.catalogue.words import Outcome
from critests.exit_codes import ExitCode
from critests.report.dashboard import grid, series
from critests.report.dashboard.incident_rows import IncidentRow, incident_rows
from critests.report.dashboard.lines import AREAS, Promise, RuntimeLine
from critests.report.dashboard.site_comparisons import Pair
from critests.report.facts.musts import ENDS, IN_PART
from critests.report.page.templating import SYMBOLS, environment, source
from critests.report.store import Index, RunEntry
from critests.report.store.history import RECENT, State, stamp
from critests.report.store.incidents import FLAKY_RUNS, FLAKY_SPELLS
from critests.report.store.letters import DEVIATING, JUDGED, RANK, UNTESTED, WORDS
from critests.report.wording.texts import plural

TEXT_LIMIT: Final = 4096
LOOK_LIMIT: Final = 80
"""Requirements in a grid's list of deviations and changes."""
LATELY_LIMIT: Final = 60
LEAD: Final = 3
"""Incidents that the overview names before everything else."""
FIRST: Final = 10
"""Visible rows of a list of requirements; the others are folded."""
DAY: Final = 86_400
PASSING: Final = frozenset({"", Outcome.PASSED, Outcome.UNSUPPORTED})
"""Tones of runs that break nothing."""
END_WORDS: Final = {tone.value: word.lower() for word, tone in ENDS.values()} | {
    "untested": "unknown end",
    "partial": IN_PART.lower(),
}


@dataclass(kw_only=True)
class SitePages:
    """All pages.

    Attributes:
        index: The index.
        title: Heading of the overview.
        now: Time of generation, seconds since the epoch.
        run_links: Prefix of links to the folders of runs, or empty.
        lines: Runtimes and versions.
        mixed: Runtimes in all their versions.
        older: Number of versions without their own page.
        promises: Requirements that any run tested.
        pairs: Pairs of lines with a page of their comparison.
    """

    index: Index
    title: str
    now: float
    run_links: str
    lines: Sequence[RuntimeLine]
    mixed: Sequence[RuntimeLine]
    older: int
    promises: Sequence[Promise]
    pairs: Sequence[Pair]

    def overview(self) -> str:
        """Return the page of all runtimes and areas."""
        rows = [
            (line, self._end(line.standing) if line.standing else "untested", self._areas(line))
            for line in self.lines
        ]
        look = [(line, *found) for line in self.lines for found in line.worth_a_look(self.promises)]
        lately = [
            (line, promise, state)
            for line, promise, state in look
            if state.changed and promise.place not in line.in_incidents
        ]
        incidents = [row for line in self.lines for row in self.incidents[line.slug]]
        incidents.sort(key=lambda row: -row.first.started)
        lately.sort(key=lambda item: -item[0].runs[item[2].since].started)
        ongoing = [row for row in incidents if row.over is None]
        ongoing.sort(key=lambda row: row.tone != Outcome.FAILED)
        ended = [row for row in incidents if row.over is not None]
        return self._render(
            "overview.html.j2",
            rows=rows,
            open=ongoing,
            lead=LEAD,
            ended=max(ended, key=lambda row: row.over.started if row.over else 0, default=None),
            tone=ongoing[0].tone if ongoing else Outcome.PASSED.value if rows else "untested",
            newest=max((line.newest for line in self.lines), default=None),
            areas=self.areas,
            incidents=incidents[:LATELY_LIMIT],
            first=FIRST,
            lately=lately[:LATELY_LIMIT],
            more=len(lately) - LATELY_LIMIT,
        )

    @cached_property
    def incidents(self) -> dict[str, list[IncidentRow]]:
        """The incidents of each line by its slug, the newest first."""
        return {line.slug: incident_rows(line, self.promises) for line in (*self.lines, *self.mixed)}

    def requirements(self) -> str:
        """Return the page of all requirements, with the number of runtimes by verdict."""
        rows = []
        for promise in self.promises:
            letters = [line.states[promise.place].letter for line in self.lines if line.runs]
            numbers = [
                (letter, letters.count(letter))
                for letter in sorted(set(letters) - {UNTESTED}, key=RANK.__getitem__)
            ]
            rows.append((promise, numbers, any(line.states[promise.place].flaky for line in self.lines)))
        return self._render("requirements.html.j2", rows=rows)

    def grid(self, line: RuntimeLine) -> str:
        """Return the grid of one runtime and version below its current verdict, which is that of the newest
        run of the whole suite.
        """
        standing = line.standing or line.runs[0]
        wanted = grid.fitting(line)
        look = line.worth_a_look(self.promises)
        settled = [(promise, state) for promise, state in look if state.letter == "K" and not state.changed]
        look = [(promise, state) for promise, state in look if state.letter != "K" or state.changed]
        eased = [
            (promise, state)
            for promise, state in look
            if not state.deviating and not state.flaky and promise.place not in line.in_incidents
        ]
        look = [(promise, state) for promise, state in look if state.deviating or state.flaky]
        header = [(column, line.runs[column.first], self._end(line.runs[column.first])) for column in wanted]
        return self._render(
            "grid.html.j2",
            line=line,
            newest=line.runs[0],
            standing=standing,
            end=self._end(standing),
            incidents=self.incidents[line.slug],
            look=look[:LOOK_LIMIT],
            more=len(look) - LOOK_LIMIT,
            first=FIRST,
            settled=settled[:LOOK_LIMIT],
            eased=eased[:LOOK_LIMIT],
            header=header,
            left_out=len(line.columns) - len(wanted),
            older=len(line.runs) - wanted[-1].last,
            body=grid.grid_body(line, self.promises, wanted, lambda entry: self.link(entry, "../")),
            tested=sum(line.states[promise.place].letter != UNTESTED for promise in self.promises),
            deviating=sum(state.deviating for state in line.states),
            changed=sum(state.changed for state in line.states),
        )

    def benchmarks(self, line: RuntimeLine) -> str:
        """Return the benchmark series of one runtime and version."""
        found = series.series_of(self.index, line)
        return self._render(
            "benchmarks.html.j2",
            line=line,
            series=found,
            news=series.newest_change(found),
            limit=series.SERIES_LIMIT,
            few=series.FEW,
            judged=series.JUDGED_RUNS,
            width=series.WIDTH,
            height=series.HEIGHT,
            upper=series.TOP,
            lower=series.HEIGHT - series.BOTTOM,
        )

    def requirement(self, promise: Promise) -> str:
        """Return the history of one requirement over all runtimes."""
        rows = []
        for line in self.lines:
            state = line.states[promise.place]
            if state.letter != UNTESTED:
                at = line.runs[state.at]
                rows.append(
                    (
                        line,
                        state,
                        grid.row_cells(line, promise.place),
                        at.reasons.get(promise.id, ""),
                        [
                            (aspect, form)
                            for aspect, form in at.forms.items()
                            if aspect.partition("/")[0] == promise.id
                        ],
                    )
                )
        weeks = max((sum(column.week for column in line.columns) for line, *_ in rows), default=0)
        notable = [row for row in rows if row[1].letter != "P" or row[1].before or row[4]]
        notable.sort(key=lambda row: RANK[row[1].letter])
        return self._render(
            "requirement.html.j2",
            promise=promise,
            rows=rows,
            weeks=weeks,
            notable=notable,
            standing=_who_passes([(line.name, state.letter) for line, state, *_ in rows]),
        )

    @cached_property
    def areas(self) -> list[str]:
        """The areas of all requirements."""
        used = {promise.area for promise in self.promises}
        return [area for area in AREAS if area in used]

    def age(self, entry_started: float) -> str:
        """Return the age at the time of generation."""
        seconds = max(self.now - entry_started, 0)
        if seconds >= 2 * DAY:
            return f"{seconds / DAY:.0f} days"
        return f"{seconds / 3600:.0f} h" if seconds >= 2 * 3600 else f"{seconds / 60:.0f} min"

    def link(self, entry: RunEntry, root: str) -> str:
        """Return the address of a run's report, or an empty text; `root` is the relative path from the page
        to the folder of the site.
        """
        if not self.run_links or not entry.report:
            return ""
        away = "" if "://" in self.run_links or self.run_links.startswith("/") else root
        return f"{away}{self.run_links}{quote(entry.path)}/report.html"

    def _areas(self, line: RuntimeLine) -> list[tuple[str, list[tuple[str, int]]]]:
        found = []
        for area in self.areas:
            numbers = line.numbers(promise for promise in self.promises if promise.area == area)
            tone = WORDS[next(iter(numbers), UNTESTED)]
            found.append((tone, list(numbers.items())))
        return found

    def _end(self, entry: RunEntry) -> str:
        if entry.partial and entry.exit_code == ExitCode.NO_NEW_FAILURE and entry.tone in PASSING:
            return "partial"
        return entry.tone or (ENDS[entry.exit_code][1].value if entry.exit_code in ENDS else "untested")

    def verdict(self, entry: RunEntry) -> str:
        """Return the verdict on a run in a few words, as in a sentence."""
        return f"{entry.verdict[:1].lower()}{entry.verdict[1:]}" or END_WORDS[self._end(entry)]

    def _render(self, template: str, **values: object) -> str:
        return (
            _templates()
            .get_template(template)
            .render(
                site=self,
                root="" if template in {"overview.html.j2", "requirements.html.j2"} else "../",
                **values,
            )
        )


def style() -> str:
    """Return the style sheet of the site: that of a run's report, and its own rules."""
    return source(_templates(), "style.css") + source(_templates(), "dashboard.css")


def script() -> str:
    """Return the script, which filters rows by words."""
    return source(_templates(), "filter.js")


def spell(line: RuntimeLine, state: State) -> str:
    """Return since when a verdict holds: `since 2026-11-18 02:00 (3 runs)`."""
    if state.letter == UNTESTED:
        return "not tested"
    first = stamp(line.runs[state.since].started)
    whole = state.since == len(line.runs) - 1 or not state.before
    since = f"since the first run, {first}" if whole else f"since {first}"
    late = f"; not tested since {stamp(line.runs[state.at].started)}" if state.at else ""
    return f"{since} ({plural(state.runs, 'run')}){late}"


def _who_passes(verdicts: Sequence[tuple[str, str]]) -> str:
    """Return how many runtimes pass a requirement and which do not, from their names and letters."""
    judged = [(name, letter) for name, letter in verdicts if letter in JUDGED]
    if not judged:
        return "No runtime version that was tested could be judged." if verdicts else ""
    breaking = [name for name, letter in judged if letter != "P"]
    passing = len(judged) - len(breaking)
    versions = f"{passing} of the {plural(len(judged), 'runtime version')} that could be judged"
    return f"{versions} {'passes' if passing == 1 else 'pass'}" + (
        f"; broken by {', '.join(breaking)}." if breaking else "."
    )


@cache
def _templates() -> Environment:
    templates = environment("critests.report.dashboard", limit=TEXT_LIMIT)
    templates.filters |= {"stamp": stamp}
    templates.globals |= {
        "symbols": SYMBOLS,
        "marks": grid.MARKS,
        "words": WORDS,
        "version": critests.__version__,
        "spell": spell,
        "RECENT": RECENT,
        "SPELLS": FLAKY_SPELLS,
        "SPELL_RUNS": FLAKY_RUNS,
        "DEVIATING": DEVIATING,
    }
    return templates
