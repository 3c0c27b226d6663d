"""The run as one self-contained page: no network, no other file; it can be read on a phone, in light and in dark, without JavaScript.

Everything that a template prints goes through `visible` (see `critests.report.texts`) and then through HTML escaping, without exception:
the environment's `finalize` and autoescape see to it. A content security policy in the page forbids whatever should slip through.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from critests.catalogue.words import Outcome
from critests.record.results import TestResult
from critests.record.run import RunRecord
from critests.report.evidence import Budget, Evidence, read_evidence
from critests.report.pages import areas_view, capabilities_view, causes_view, coverage_view, failures_view, groups_view, verdict_view
from critests.report.selection import by_reason, columns, with_outcome
from critests.report.texts import cut, duration, moment, plural, visible

TEXT_LIMIT: Final = 64 * 1024
EVIDENCE_BUDGET: Final = 4 * 1024 * 1024
"""Characters of evidence in one page."""
CARDS: Final = 150
"""Failures (and warnings) that have a card of their own."""
SYMBOLS: Final = {
    "passed": "✓",
    "failed": "✕",
    "warned": "!",
    "known": "≈",
    "unsupported": "∅",
    "blocked": "⊘",
    "error": "‼",
    "disabled": "○",
    "untested": "·",
}


def to_html(record: RunRecord, run_dir: Path | None = None) -> str:
    """Return the page of a run.

    Args:
        record: The run.
        run_dir: Folder of the run, from which the evidence is read; without it the page has none.
    """
    environment = _environment()
    script = _source("filter.js")
    budget = Budget(EVIDENCE_BUDGET)
    evidence: dict[str, Evidence] = {}
    failures = failures_view(record)
    warned, known = with_outcome(record, Outcome.WARNED), with_outcome(record, Outcome.KNOWN)
    for test in [*(test for group in failures for test in group.tests)][:CARDS] + warned[:CARDS] + known[:CARDS]:
        if run_dir is not None and test.evidence:
            evidence[test.id] = read_evidence(run_dir, test.evidence, budget)
    return environment.get_template("page.html.j2").render(
        record=record,
        verdict=verdict_view(record),
        failures=failures,
        failures_total=sum(len(group.tests) for group in failures),
        causes=causes_view(record),
        warned=warned,
        known=known,
        blocked=by_reason(with_outcome(record, Outcome.BLOCKED)),
        unsupported=by_reason(with_outcome(record, Outcome.UNSUPPORTED)),
        columns=[outcome.value for outcome in columns(record)],
        areas=areas_view(record),
        groups=groups_view(record),
        capabilities=capabilities_view(record),
        coverage=coverage_view(record),
        machine=_flat(record.machine),
        evidence=evidence,
        cards=CARDS,
        symbols=SYMBOLS,
        style=Markup(_source("style.css")),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("critests.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"moment": moment, "duration": duration, "plural": plural, "kilobytes": _size, "brief": brief}
    return environment


def brief(test: TestResult) -> str:
    """Return the shortest useful sentence about a test."""
    return test.seen or test.reason or test.title


def _source(name: str) -> str:
    loader = _environment().loader
    assert loader is not None
    return loader.get_source(_environment(), name)[0]


def _harmless(value: object) -> object:
    """Make every printed text harmless and bounded; what the templates themselves made passes."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(cut(value, TEXT_LIMIT))
    return value


def _size(number: int) -> str:
    return f"{number} bytes" if number < 1024 else f"{number / 1024:,.0f} KiB"


def _flat(facts: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    """Return nested facts as a list of names and texts."""
    flat: list[tuple[str, str]] = []
    for name, value in facts.items():
        label = f"{prefix}{name}".replace("_", " ")
        if isinstance(value, Mapping):
            flat += _flat(value, f"{label} · ")
        elif isinstance(value, list) and all(isinstance(item, (str, int, float)) for item in value):
            flat.append((label, ", ".join(str(item) for item in value)))
        elif isinstance(value, (dict, list)):
            flat.append((label, json.dumps(value, ensure_ascii=False)))
        elif value is not None and value != "":
            flat.append((label, {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)))
    return flat
