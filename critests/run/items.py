"""Items that pytest collected: whether a test belongs to the suite, and its metadata."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from critests import catalogue
from critests.catalogue.words import Capability
from critests.record.files import shortened
from critests.run.collected_tests import PACKAGE, SUITE, CollectedTest, JudgedAspect
from critests.run.marks import DISRUPTIVE, DOCUMENTS, MALFORMED, REQUIREMENT, REQUIRES, SCENARIO, SLOW

BENCHMARKS = PACKAGE / "benchmark"
SCENARIOS = BENCHMARKS / "scenarios"
MODULES = ("critests.validation", "critests.benchmark")
"""The two suites as arguments for pytest's --pyargs."""
PARAMETER_LIMIT = 200
"""Characters stored of a parameter."""


def metadata_of(item: pytest.Item) -> CollectedTest:
    """Return the metadata of a test.

    Raises:
        pytest.UsageError: the test names an aspect that is not in the catalogue.
    """
    doc = (getattr(getattr(item, "function", None), "__doc__", "") or "").strip()
    callspec = getattr(item, "callspec", None)
    params = callspec.params.items() if callspec else ()
    return CollectedTest(
        id=test_id(item),
        name=item.name,
        aspect=judged_by(item).name,
        scenario=scenario_of(item),
        title=" ".join(doc.partition("\n\n")[0].split()),
        params={name: shortened(str(value), PARAMETER_LIMIT) for name, value in params},
        slow=item.get_closest_marker(SLOW) is not None,
        disruptive=item.get_closest_marker(DISRUPTIVE) is not None
        or Capability.DISRUPTIVE in required_by(item),
        malformed=item.get_closest_marker(MALFORMED) is not None,
        documents=item.get_closest_marker(DOCUMENTS) is not None,
        shares=any(definitions[-1].scope == "module" for definitions in _fixtures(item).values()),
        ours=is_ours(item),
    )


def judged_by(item: pytest.Item) -> JudgedAspect:
    """Return the aspect that a test judges.

    Raises:
        pytest.UsageError: the test names an aspect that is not in the catalogue.
    """
    mark = item.get_closest_marker(REQUIREMENT)
    try:
        return JudgedAspect.named(mark.args[0] if mark is not None else "")
    except catalogue.UnknownRequirement as error:
        msg = f"{item.nodeid}: {error}"
        raise pytest.UsageError(msg) from error


def is_ours(item: pytest.Item) -> bool:
    """Return whether a test belongs to the suite or to a vendor's extension: it has a requirement marker, or
    uses the fixture `run_context` of critests (and not one of the same name elsewhere).
    """
    if item.get_closest_marker(REQUIREMENT) is not None:
        return True
    definitions = _fixtures(item).get("run_context", ())
    return any(
        definition.func.__module__ == "critests.fixtures.session_fixtures" for definition in definitions
    )


def _fixtures(item: pytest.Item) -> Mapping[str, Sequence[pytest.FixtureDef[Any]]]:
    """Return the fixtures of a test by name; of each name, the test uses the last one."""
    found: Mapping[str, Sequence[pytest.FixtureDef[Any]]]
    found = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    return found


def scenario_of(item: pytest.Item) -> str:
    """Return the benchmark scenario that a test measures; empty for other tests."""
    mark = item.get_closest_marker(SCENARIO)
    return str(mark.args[0]) if mark is not None else ""


def required_by(item: pytest.Item) -> list[Capability]:
    """Return the capabilities that a test requires."""
    return [capability for mark in item.iter_markers(REQUIRES) for capability in mark.args]


def test_id(item: pytest.Item) -> str:
    """Return a test's id, relative to the suite."""
    _, _, inside = item.nodeid.partition("::")
    if SUITE in item.path.parents:
        return f"{item.path.relative_to(SUITE).as_posix()}::{inside}"
    if SCENARIOS in item.path.parents:
        return f"benchmark/{item.path.relative_to(SCENARIOS).as_posix()}::{inside}"
    return item.nodeid


test_id.__test__ = False  # type: ignore[attr-defined]  # pytest would collect it by its name


def narrowed_by_pytest(config: pytest.Config) -> list[str]:
    """Return the arguments of pytest that may leave tests out: -k, -m, files and folders."""
    words = [
        f"{name} {given}"
        for name, given in (("-k", config.option.keyword), ("-m", config.option.markexpr))
        if given
    ]
    return words + [word for word in config.args if not _holds_a_suite(config.invocation_params.dir, word)]


def _holds_a_suite(folder: Path, argument: str) -> bool:
    path = (folder / argument).resolve()
    return argument in MODULES or any(suite == path or path in suite.parents for suite in (SUITE, SCENARIOS))


def once_more(item: pytest.Item) -> pytest.Item:
    """Return a copy of a test with the same name, since pytest runs each item once."""
    assert isinstance(item, pytest.Function)
    arguments = {"callspec": item.callspec} if hasattr(item, "callspec") else {}
    more: pytest.Function = pytest.Function.from_parent(
        item.parent,
        name=item.name,
        callobj=item.function,
        fixtureinfo=item._fixtureinfo,  # noqa: SLF001 - the same fixtures; pytest has no public name for them
        originalname=item.originalname,
        **arguments,
    )
    more.own_markers = list(item.own_markers)
    return more
