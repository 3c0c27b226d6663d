"""Requirements, their aspects and groups, and their look-up.

A requirement has one or more aspects, each with one level. A single aspect is named by the requirement alone
("SBA-17"); several have names of their own ("SBX-26/error" and "SBX-26/code"). A test names one aspect.
"""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from critests.catalogue.words import Area, Level

_NEAR = 5
"""How many similar names an error lists."""
_TITLE_LENGTH = 100
"""Characters of a statement that a table or a list shows."""


class CatalogueError(ValueError):
    """The catalogue's data are invalid; the text names the file and the entry."""


class UnknownRequirement(ValueError):
    """A requirement, aspect or other word is not in the catalogue; the text names similar ones."""


def minor_of(version: str) -> int | None:
    """Return the minor number of a Kubernetes version such as "1.36", or None for "".

    Raises:
        ValueError: the text is not of the form "1.N".
    """
    if not version:
        return None
    major, dot, minor = version.partition(".")
    if major != "1" or not dot or not minor.isdecimal():
        msg = f"{version!r} is not a Kubernetes version of the form 1.N"
        raise ValueError(msg)
    return int(minor)


@dataclass(frozen=True, slots=True)
class Aspect:
    """One promise of a requirement, with one level."""

    id: str
    """As in tests: "SBA-17", or "SBX-26/error" if the requirement has several aspects."""
    name: str
    """The part behind the slash; "" if the requirement has only one aspect."""
    level: Level
    judgement: bool = False
    """No text of the API requires it; it is our engineering judgement (†): a breach is `warned` at most,
    whatever the level.
    """
    scope: str = ""
    """Which part of the requirement's statement this aspect covers; "" for the whole of it."""
    detection: str = ""
    """When it applies: how an optional feature is found, or the condition that must hold; "" for always."""
    since: str = ""
    """Kubernetes minor from which it holds ("1.36"); "1.15" stands for 1.15 or older, "" is not tied to a
    version.
    """
    disruptive: bool = False
    """Its test restarts, starves or attacks the daemon."""
    untestable: str = ""
    """Why no test on a single Linux machine can judge it, as a sentence; "" if one can."""
    judged_by: tuple[str, ...] = ()
    """Ids of other aspects that cover a part or all of it: their tests judge it too, and it has none of its
    own.
    """

    builds_on: str = ""
    """Id of the requirement without which it cannot be met: a limit that is not set applies to no command.
    While that one is broken, a failure of this one is not a finding of its own.
    """

    @property
    def since_minor(self) -> int | None:
        """The minor number of `since`, None if it is not tied to a version."""
        return minor_of(self.since)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One entry of the catalogue. Its id is never used again; a changed statement raises `rev`."""

    id: str
    group: str
    """Prefix of its id, such as "SBX"."""
    area: Area
    statement: str
    aspects: tuple[Aspect, ...]
    rpcs: tuple[str, ...] = ()
    """Names of the RPCs that it concerns; () if it concerns all of them or none in particular."""
    fields: str = ""
    """The RPCs, fields or other places it is about, for a reader."""
    source: str = ""
    """Where it comes from; the abbreviations are explained in docs/catalogue.md."""
    since: str = ""
    """Kubernetes minor in which it first held; "1.15" stands for 1.15 or older, "" is not tied to a
    version.
    """
    feature: str = ""
    """The optional feature it belongs to (a key of features.toml, a `Capability` where there is one), "" for
    none.
    """
    critest: str = "no"
    """How far the critest programme of cri-tools asserts it: "yes", "partly" or "no"."""
    rev: int = 1
    own_test: bool = True
    """False for a rule about how the suite is run, which no test carries."""

    @property
    def title(self) -> str:
        """The statement, shortened to one line of a list (100 characters)."""
        if len(self.statement) <= _TITLE_LENGTH:
            return self.statement
        return self.statement[: _TITLE_LENGTH - 1].rsplit(" ", 1)[0].rstrip(" ,;:(") + "…"


@dataclass(frozen=True, slots=True)
class Group:
    """Requirements about one subject; the prefix of their ids."""

    prefix: str
    title: str
    area: Area
    requirements: tuple[Requirement, ...]


@dataclass(frozen=True)
class Catalogue:
    """All requirements, in the order of their groups and numbers."""

    groups: tuple[Group, ...]
    revision: str
    """Short hash of the data: equal for equal catalogues, on every machine."""
    features: dict[str, str] = field(hash=False)
    """How each optional feature is detected, by its name."""

    @cached_property
    def requirements(self) -> tuple[Requirement, ...]:
        """Every requirement."""
        return tuple(entry for group in self.groups for entry in group.requirements)

    @cached_property
    def aspects(self) -> dict[str, tuple[Requirement, Aspect]]:
        """Every aspect and its requirement, by the id of the aspect."""
        return {aspect.id: (entry, aspect) for entry in self.requirements for aspect in entry.aspects}

    @cached_property
    def _by_id(self) -> dict[str, Requirement]:
        return {entry.id: entry for entry in self.requirements}

    def find(self, requirement_id: str) -> Requirement | None:
        """Return the requirement of this id ("SBX-26"), if there is one."""
        return self._by_id.get(requirement_id)

    def requirement(self, requirement_id: str) -> Requirement:
        """Return the requirement of this id ("SBX-26").

        Raises:
            UnknownRequirement: there is none; the text names near ones, which takes some 20 ms to find.
        """
        found = self.find(requirement_id)
        if found is None:
            near = difflib.get_close_matches(requirement_id.upper(), self._by_id, n=_NEAR)
            msg = f"no requirement {requirement_id!r} in the catalogue{_near(near)}"
            raise UnknownRequirement(msg)
        return found

    def aspect(self, name: str) -> tuple[Requirement, Aspect]:
        """Return a requirement and one aspect of it by the aspect's id ("SBX-26/error", or "SBA-17" where it
        is the only one).

        Raises:
            UnknownRequirement: there is no such requirement, or it has other aspects; the text names them.
        """
        found = self.aspects.get(name)
        if found is not None:
            return found
        requirement_id, slash, _ = name.partition("/")
        entry = self.requirement(requirement_id)
        valid = ", ".join(aspect.id for aspect in entry.aspects)
        if slash and len(entry.aspects) == 1:
            msg = f"no aspect {name!r}: {entry.id} has a single one, name it as {valid}"
        elif slash:
            msg = f"no aspect {name!r}: those of {entry.id} are {valid}"
        else:
            msg = f"{entry.id} has several aspects, name one of {valid}"
        raise UnknownRequirement(msg)

    def select(self, expressions: Iterable[str]) -> frozenset[str]:
        """Return the ids of all aspects that any of the expressions names.

        Args:
            expressions: ids of requirements ("SBX-26": all its aspects) or of aspects ("SBX-26/error"),
                groups ("SBX"), areas ("sandboxes") and levels ("MUST"), in any case; one text may hold
                several, separated by commas.

        Raises:
            UnknownRequirement: a word is none of these; the text names near ones.
        """
        words = [word.strip() for text in expressions for word in text.split(",")]
        return frozenset(name for word in words if word for name in self._named(word))

    def _named(self, word: str) -> frozenset[str]:
        found = self._words.get(word.casefold())
        if found is None:
            known = {spoken.casefold(): spoken for spoken in (*self._by_id, *self._groups_areas_levels)}
            requirement_id = known.get(word.partition("/")[0].casefold(), "")
            if "/" in word and requirement_id in self._by_id:
                self.aspect(
                    f"{requirement_id}/{word.partition('/')[2]}"
                )  # raises, and names the aspects there are
            near = [known[spoken] for spoken in difflib.get_close_matches(word.casefold(), known, n=_NEAR)]
            msg = f"{word!r} is no requirement, aspect, group, area or level{_near(near)}"
            raise UnknownRequirement(msg)
        return found

    @cached_property
    def _groups_areas_levels(self) -> tuple[str, ...]:
        return (*(group.prefix for group in self.groups), *Area, *Level)

    @cached_property
    def _words(self) -> dict[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for name, (entry, aspect) in self.aspects.items():
            for word in (name, entry.id, entry.group, entry.area.value, aspect.level.value):
                found.setdefault(word.casefold(), set()).add(name)
        return {word: frozenset(names) for word, names in found.items()}


def _near(matches: list[str]) -> str:
    return f"; near it: {', '.join(matches)}" if matches else ""
