"""Reading the catalogue's TOML files."""

import hashlib
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from critests.catalogue.requirements import Aspect, Catalogue, CatalogueError, Group, Requirement, minor_of
from critests.catalogue.words import Area, Level
from critests.disk_cache import cached_json

_REVISION_LENGTH = 12
"""Hexadecimal digits of the content hash."""
_CRITEST = frozenset({"yes", "partly", "no"})
_GROUP_KEYS = ("order", "title", "area")
_ASPECT_KEYS = frozenset(
    {
        "level",
        "judgement",
        "scope",
        "detection",
        "disruptive",
        "untestable",
        "judged_by",
        "builds_on",
    }
)
_NAMED_ASPECT_KEYS = _ASPECT_KEYS | {"name", "since"}
_REQUIREMENT_KEYS = frozenset(
    {"rev", "statement", "fields", "rpcs", "source", "own_test", "since", "critest", "feature"}
)


@cache
def load() -> Catalogue:
    """Read the catalogue that is part of this package. It is read once; later calls return the same object.

    Raises:
        CatalogueError: an entry is invalid; the text names the file and the entry.
    """
    folder = Path(__file__).parent
    # parsing TOML takes longer than everything else here
    known = cached_json("tables", folder)
    written = known.read()
    if written is None:
        written = _written(folder)
        known.write(written)
    return _catalogue(written)


def read(folder: Path) -> Catalogue:
    """Read a catalogue: `features.toml` and `data/<group>.toml` below a folder.

    Raises:
        CatalogueError: an entry does not hold together; the text names the file and the entry.
    """
    return _catalogue(_written(folder))


def _written(folder: Path) -> dict[str, Any]:
    """Return the contents of the files as JSON-compatible data: features, groups by file name, and a revision
    of all of it.
    """
    digest = hashlib.sha256()
    features_text = (folder / "features.toml").read_bytes()
    digest.update(features_text)
    groups: dict[str, dict[str, Any]] = {}
    for file in sorted((folder / "data").glob("*.toml")):
        text = file.read_bytes()
        digest.update(file.name.encode() + b"\0" + text)
        try:
            groups[file.name] = tomllib.loads(text.decode())
        except ValueError as error:
            msg = f"{file.name}: {error}"
            raise CatalogueError(msg) from error
    features = tomllib.loads(features_text.decode())
    return {"features": features, "groups": groups, "revision": digest.hexdigest()[:_REVISION_LENGTH]}


def _catalogue(written: dict[str, Any]) -> Catalogue:
    features: dict[str, str] = written["features"]
    groups: list[tuple[int, Group]] = []
    for name, table in written["groups"].items():
        try:
            groups.append(_group(name.removesuffix(".toml"), table, features))
        except (CatalogueError, KeyError, ValueError) as error:
            msg = f"{name}: {_sentence(error)}"
            raise CatalogueError(msg) from error
    groups.sort(key=lambda numbered: numbered[0])
    catalogue = Catalogue(tuple(group for _, group in groups), written["revision"], features)
    _check_judges(catalogue)
    _check_foundations(catalogue)
    return catalogue


def _group(prefix: str, table: dict[str, Any], features: dict[str, str]) -> tuple[int, Group]:
    order, title, area = (table.pop(key) for key in _GROUP_KEYS)
    untestable: str = table.pop("untestable", "")
    entries: list[Requirement] = []
    for requirement_id, entry in table.items():
        try:
            requirement = _requirement(
                requirement_id, entry, Group(prefix, title, Area(area), ()), untestable
            )
            _check(requirement, features)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            msg = f"{requirement_id}: {_sentence(error)}"
            raise CatalogueError(msg) from error
        entries.append(requirement)
    return order, Group(prefix, title, Area(area), tuple(entries))


def _requirement(requirement_id: str, table: dict[str, Any], group: Group, untestable: str) -> Requirement:
    several = table.pop("aspects", None)
    since = table.get("since", "")
    if several is None:
        several = [{key: table.pop(key) for key in list(table) if key in _ASPECT_KEYS}]
    aspects = tuple(
        _aspect(requirement_id, since, {"untestable": untestable, **aspect}) for aspect in several
    )
    _refuse_unknown(table.keys() - _REQUIREMENT_KEYS)
    table["rpcs"] = tuple(table["rpcs"])
    return Requirement(id=requirement_id, group=group.prefix, area=group.area, aspects=aspects, **table)


def _aspect(requirement_id: str, since: str, table: dict[str, Any]) -> Aspect:
    _refuse_unknown(table.keys() - _NAMED_ASPECT_KEYS)
    name = table.pop("name", "")
    table["level"] = Level(table["level"])
    table["judged_by"] = tuple(table.get("judged_by", ()))
    table.setdefault("since", since)
    return Aspect(id=f"{requirement_id}/{name}" if name else requirement_id, name=name, **table)


def _refuse_unknown(keys: set[str]) -> None:
    if keys:
        msg = f"unknown key {min(keys)!r}"
        raise ValueError(msg)


def _check(entry: Requirement, features: dict[str, str]) -> None:
    if not entry.id.startswith(f"{entry.group}-"):
        msg = f"an id of this group begins with {entry.group}-"
        raise ValueError(msg)
    names = {aspect.name for aspect in entry.aspects}
    if not names or len(names) != len(entry.aspects) or ("" in names) != (len(names) == 1):
        msg = "several aspects need a name each, a single one none"
        raise ValueError(msg)
    for version in (entry.since, *(aspect.since for aspect in entry.aspects)):
        minor_of(version)
    for reason in (aspect.untestable for aspect in entry.aspects if aspect.untestable):
        if not reason.endswith("."):
            msg = f"untestable is {reason!r}, not a sentence"
            raise ValueError(msg)
    if entry.critest not in _CRITEST:
        msg = f"critest is {entry.critest!r}, not yes, partly or no"
        raise ValueError(msg)
    if entry.feature and entry.feature not in features:
        msg = f"features.toml does not know the feature {entry.feature!r}"
        raise ValueError(msg)


def _check_judges(catalogue: Catalogue) -> None:
    """Reject a `judged_by` that names no aspect with tests."""
    for entry, aspect in catalogue.aspects.values():
        for name in aspect.judged_by:
            judge = catalogue.aspects.get(name, (entry, None))[1]
            if judge is None or judge.judged_by or judge.untestable:
                wrong = f"judged_by names {name!r}, which has no tests of its own"
                msg = f"{entry.group}.toml: {aspect.id}: {wrong}"
                raise CatalogueError(msg)


def _check_foundations(catalogue: Catalogue) -> None:
    """Reject a `builds_on` that names no other requirement."""
    for entry, aspect in catalogue.aspects.values():
        if aspect.builds_on and (aspect.builds_on == entry.id or catalogue.find(aspect.builds_on) is None):
            msg = f"{entry.group}.toml: {aspect.id}: builds_on names {aspect.builds_on!r}"
            raise CatalogueError(msg)


def _sentence(error: Exception) -> str:
    return f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
