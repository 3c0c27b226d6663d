"""The lines of the site, one per runtime and version, and its requirements."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from critests import catalogue
from critests.catalogue.words import Area
from critests.record.run_layout import UNKNOWN, safe_name
from critests.record.versions import parse_version
from critests.report.store import Index, RunEntry
from critests.report.store.history import RECENT, Column, State, columns, histories, shown, state
from critests.report.store.incidents import Incident, Spell, flaky, incidents, spells_of
from critests.report.store.letters import RANK, UNTESTED

OTHER: Final = "other"
ALL_VERSIONS: Final = "all versions"
MIXED_RUNS: Final = 365
"""Newest runs of a runtime in its grid of all versions."""
AREAS: Final = (*(area.value for area in Area), OTHER)


@dataclass(frozen=True)
class Promise:
    """A requirement as the pages show it.

    Attributes:
        id: Its id.
        place: Its index in the letters of a run.
        page: Name of its page, without a folder.
        group: Title of its group.
        area: Area of the API, or `other`.
        entry: Its entry in the catalogue, or None.
    """

    id: str
    place: int
    page: str
    group: str
    area: str
    entry: catalogue.Requirement | None

    @property
    def statement(self) -> str:
        """Its statement; empty if it is not in the catalogue."""
        return self.entry.statement if self.entry else ""

    @property
    def title(self) -> str:
        """Its title, the statement on one line."""
        return self.entry.title if self.entry else ""


@dataclass(frozen=True)
class RuntimeLine:
    """A runtime in one version, or in all of them, with its runs.

    Attributes:
        runtime: Its name.
        version: Its version, or `all versions`.
        slug: Name of its pages.
        runs: Validation runs, the newest first.
        benchmarks: Benchmark runs, the newest first.
        count: Number of requirements.
        mixed: Whether its runs are of several versions.
    """

    runtime: str
    version: str
    slug: str
    runs: list[RunEntry]
    benchmarks: list[RunEntry]
    count: int
    mixed: bool = False

    @property
    def name(self) -> str:
        """Runtime and version."""
        return f"{self.runtime} {self.version}"

    @property
    def standing(self) -> RunEntry | None:
        """The run that represents the runtime: the newest one of the whole suite, or else the newest."""
        return next((run for run in self.runs if run.whole), self.runs[0] if self.runs else None)

    @property
    def newest(self) -> float:
        """Start of the newest run of any kind, seconds since the epoch."""
        return max(entry.started for entry in [*self.runs[:1], *self.benchmarks[:1]])

    @cached_property
    def columns(self) -> list[Column]:
        """Its runs and weeks."""
        return columns(self.runs, with_version=self.mixed)

    @cached_property
    def recent(self) -> int:
        """Number of columns that are single runs."""
        return sum(not column.week for column in self.columns)

    @cached_property
    def bench_columns(self) -> list[Column]:
        """Its benchmark runs and their weeks."""
        return columns(self.benchmarks)

    @cached_property
    def histories(self) -> list[str]:
        """The history of each requirement."""
        return histories(self.runs, self.count)

    @cached_property
    def shown(self) -> list[str]:
        """For each requirement the letters of the columns."""
        return [shown(history, self.columns) for history in self.histories]

    @cached_property
    def spells(self) -> list[list[Spell]]:
        """For each requirement the runs in a row that broke it; none where they are of several versions."""
        return [] if self.mixed else spells_of(self.histories)

    @cached_property
    def incidents(self) -> list[Incident]:
        """The incidents that began in its newest runs; none where they are of several versions."""
        return incidents(self.spells)

    @cached_property
    def states(self) -> list[State]:
        """For each requirement its state."""
        versions = [entry.version for entry in self.runs] if self.mixed else []
        again = flaky(self.spells, self.incidents)
        return [
            replace(state(history, versions), flaky=place in again)
            for place, history in enumerate(self.histories)
        ]

    @cached_property
    def in_incidents(self) -> frozenset[int]:
        """The requirements of its incidents."""
        return frozenset(place for incident in self.incidents for place in incident.places)

    def numbers(self, promises: Iterable[Promise]) -> dict[str, int]:
        """Count requirements by their newest verdict, the worst first, without untested ones."""
        counted = Counter(self.states[promise.place].letter for promise in promises)
        return {
            letter: counted[letter] for letter in sorted(counted, key=RANK.__getitem__) if letter != UNTESTED
        }

    def worth_a_look(self, promises: Sequence[Promise]) -> list[tuple[Promise, State]]:
        """Return deviations and changes: failures first, then flaky ones, then by age of the change."""
        found = [(promise, self.states[promise.place]) for promise in promises]
        found = [
            (promise, now)
            for promise, now in found
            if now.deviating or now.changed or (now.before and now.since < RECENT)
        ]
        return sorted(
            found,
            key=lambda item: (item[1].letter != "F", not item[1].flaky, item[1].since, RANK[item[1].letter]),
        )


def promises(names: Sequence[str]) -> list[Promise]:
    """Return the requirements in the order of the catalogue, then those that it does not have."""
    places = {name: place for place, name in enumerate(names)}
    used: set[str] = set()
    found = []
    for group in catalogue.load().groups:
        for entry in group.requirements:
            if entry.id in places:
                title = f"{group.prefix} · {group.title}"
                found.append(
                    Promise(
                        entry.id,
                        places.pop(entry.id),
                        _unique(entry.id, used),
                        title,
                        entry.area.value,
                        entry,
                    )
                )
    found += [
        Promise(name, place, _unique(name, used), "Other requirements", OTHER, None)
        for name, place in places.items()
    ]
    return found


def all_versions(index: Index, known: Sequence[RuntimeLine]) -> list[RuntimeLine]:
    """Return, for each runtime that was tested in several versions, a line of its newest validation runs."""
    used = {line.slug.lower() for line in known}
    found = []
    for runtime in sorted({line.runtime for line in known}):
        runs = index.runs(runtime=runtime, kind="validation", limit=MIXED_RUNS)
        if len({entry.version for entry in runs} - {UNKNOWN}) > 1:
            slug = _unique(f"{safe_name(runtime)}-all-versions", used)
            found.append(
                RuntimeLine(runtime, ALL_VERSIONS, slug, runs, [], len(index.requirements()), mixed=True)
            )
    return found


def lines(index: Index) -> list[RuntimeLine]:
    """Return a line per runtime and version, sorted by runtime, then newest version first."""
    count = len(index.requirements())
    used: set[str] = set()
    found = []
    pairs = index.lines()
    # a run that found no runtime to ask stands with those of the version that was tested last
    homes = {
        runtime: _newest_version(index, runtime, pairs) for runtime, version in pairs if version == UNKNOWN
    }
    for runtime, version in pairs:
        home = homes.get(runtime)
        if home and version == UNKNOWN:
            continue
        runs = index.runs(runtime=runtime, version=version)
        if version == home:
            runs += index.runs(runtime=runtime, version=UNKNOWN)
            runs.sort(key=lambda entry: -entry.started)
        validations = [entry for entry in runs if entry.kind == "validation"]
        benchmarks = [entry for entry in runs if entry.kind == "benchmark"]
        if validations or benchmarks:
            slug = _unique(f"{safe_name(runtime)}-{safe_name(version)}", used)
            found.append(RuntimeLine(runtime, version, slug, validations, benchmarks, count))
    return sorted(sorted(found, key=_version_key, reverse=True), key=lambda line: line.runtime)


def _newest_version(index: Index, runtime: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Return the version of a runtime's newest run that has one; empty without one."""
    newest = {
        version: index.runs(runtime=name, version=version, limit=1)[0].started
        for name, version in pairs
        if name == runtime and version != UNKNOWN
    }
    return max(newest, key=newest.__getitem__, default="")


def _version_key(line: RuntimeLine) -> tuple[object, ...]:
    parsed = parse_version(line.version)
    return (parsed is not None, parsed.key() if parsed else ((), (0, 0)), line.version)


def _unique(text: str, used: set[str]) -> str:
    """Return a unique name for a file, also on file systems that ignore case."""
    name = safe_name(text)
    number = 2
    while name.lower() in used:
        name = f"{safe_name(text)}-{number}"
        number += 1
    used.add(name.lower())
    return name
