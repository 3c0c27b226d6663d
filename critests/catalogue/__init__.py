"""The requirements on a CRI runtime as data, and the enumerations that all packages use.

The data are in `data/<group>.toml`, one file a group. Read them with `load`, or one entry with `aspect`:

    >>> found, aspect = catalogue.aspect("SBX-26/error")
    >>> aspect.level
    <Level.MUST: 'MUST'>

Standard library only.
"""

from critests.catalogue.loading import load
from critests.catalogue.requirements import (
    Aspect,
    Catalogue,
    CatalogueError,
    Group,
    Requirement,
    UnknownRequirement,
    minor_of,
)
from critests.catalogue.rpcs import all_rpcs, judge_of, rpc_of
from critests.catalogue.words import WORST_FIRST, Area, Capability, Level, Outcome, worst

__all__ = [
    "WORST_FIRST",
    "Area",
    "Aspect",
    "Capability",
    "Catalogue",
    "CatalogueError",
    "Group",
    "Level",
    "Outcome",
    "Requirement",
    "UnknownRequirement",
    "all_rpcs",
    "aspect",
    "judge_of",
    "load",
    "minor_of",
    "names",
    "requirement",
    "rpc_of",
    "worst",
]


def requirement(requirement_id: str) -> Requirement:
    """Return one requirement of the catalogue; see `Catalogue.requirement`."""
    return load().requirement(requirement_id)


def aspect(name: str) -> tuple[Requirement, Aspect]:
    """Return a requirement and one aspect of it, as a test names it; see `Catalogue.aspect`."""
    return load().aspect(name)


def names() -> frozenset[str]:
    """Return the ids of all requirements and aspects."""
    known = load()
    return frozenset({*known.aspects, *(each.id for each in known.requirements)})
