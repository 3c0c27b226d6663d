"""Versions of runtimes, conditions on them (`<2.0`, `>=1.6,<1.7`, `*`), and ranges, of which one must match:
each maintained release series gets a fix in a version of its own.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

_VERSION: Final = re.compile(
    r"\s*v?(?P<numbers>\d+(?:\.\d+)*)(?:[-~.]?(?P<pre>alpha|beta|rc|pre|dev)[.-]?(?P<count>\d*))?",
    re.IGNORECASE,
)
_CLAUSE: Final = re.compile(
    r"\s*(?P<sign><=|>=|==|!=|<|>)\s*(?P<version>v?\d+(?:\.\d+)*(?:[-~.]?(?:alpha|beta|rc|pre|dev)[.-]?\d*)?)\s*\Z"
)
_STAGES: Final = {"dev": 0, "alpha": 1, "beta": 2, "pre": 3, "rc": 3}
_RELEASED: Final = (9, 0)  # above all stages


@dataclass(frozen=True)
class Version:
    """A version as a runtime reports it.

    Attributes:
        numbers: Its numbers, `(1, 6, 20)` for `v1.6.20~ds1`; what a distribution or a build adds after them
            is left out.
        stage: Rank and number of a pre-release (`-rc.1`); a release ranks above all of them.
    """

    numbers: tuple[int, ...]
    stage: tuple[int, int] = _RELEASED

    def key(self, *, with_stage: bool = True) -> tuple[tuple[int, ...], tuple[int, int]]:
        """Return what to compare by: `1.6` equals `1.6.0`."""
        padded = self.numbers + (0,) * (6 - len(self.numbers))
        return padded, self.stage if with_stage else _RELEASED


def parse_version(text: str) -> Version | None:
    """Read a version such as `1.6.20~ds1`, `2.1.9+unknown` or `v2.2.0-rc.1`; None where no number leads
    it.
    """
    match = _VERSION.match(text)
    if match is None:
        return None
    numbers = tuple(int(number) for number in match["numbers"].split("."))
    if not match["pre"]:
        return Version(numbers)
    return Version(numbers, (_STAGES[match["pre"].lower()], int(match["count"] or 0)))


@dataclass(frozen=True)
class VersionCondition:
    """A condition on a version; all its clauses must hold. A pre-release counts as its release unless the
    clause names a pre-release.

    Attributes:
        text: As it was written.
        clauses: Sign and version of each clause; empty for `*`.
    """

    text: str
    clauses: tuple[tuple[str, Version], ...]

    def holds(self, version: str) -> bool:
        """Return whether it matches; a version that cannot be parsed matches only `*`."""
        if not self.clauses:
            return True
        found = parse_version(version)
        return found is not None and all(_holds(found, sign, bound) for sign, bound in self.clauses)


def parse_condition(text: str) -> VersionCondition:
    """Read `*`, or clauses of `<`, `<=`, `>`, `>=`, `==`, `!=` joined by commas.

    Raises:
        ValueError: it is neither.
    """
    if text.strip() == "*":
        return VersionCondition(text, ())
    clauses = []
    for clause in text.split(","):
        match = _CLAUSE.match(clause)
        version = parse_version(match["version"]) if match else None
        if match is None or version is None:
            msg = f'"{text}" is no condition on versions; write "*", "<2.0" or ">=1.6,<1.7"'
            raise ValueError(msg)
        clauses.append((match["sign"], version))
    return VersionCondition(text, tuple(clauses))


@dataclass(frozen=True)
class VersionRanges:
    """Conditions of which one must hold.

    Attributes:
        conditions: At least one.
    """

    conditions: tuple[VersionCondition, ...]

    def __str__(self) -> str:
        """Return them as they were written."""
        return " or ".join(condition.text for condition in self.conditions)

    def holds(self, version: str) -> bool:
        """Return whether a version matches one of them."""
        return any(condition.holds(version) for condition in self.conditions)


def parse_ranges(texts: Iterable[str]) -> VersionRanges:
    """Read conditions of which one must hold.

    Raises:
        ValueError: one of them is no condition.
    """
    return VersionRanges(tuple(map(parse_condition, texts)))


_Key = tuple[tuple[int, ...], tuple[int, int]]
_SIGNS: Final[dict[str, Callable[[_Key, _Key], bool]]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
}


def _holds(found: Version, sign: str, bound: Version) -> bool:
    staged = bound.stage != _RELEASED
    return _SIGNS[sign](found.key(with_stage=staged), bound.key(with_stage=staged))
