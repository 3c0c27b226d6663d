"""The page of a validation: one file that needs no network and no JavaScript.

Everything that a template prints is escaped (see `critests.report.page.templating`). A content security
policy in the page blocks anything that escaping might miss.
"""

import base64
import hashlib
from pathlib import Path
from typing import Final

from markupsafe import Markup

from critests.catalogue.words import Outcome
from critests.record.run_record import RunRecord
from critests.report.facts.display_order import by_reason, with_outcome
from critests.report.facts.run_facts import flat
from critests.report.facts.stored_evidence import Budget, StoredEvidence, read_evidence
from critests.report.page.templating import SYMBOLS, environment, source
from critests.report.validation.validation_views import (
    areas_view,
    capabilities_view,
    causes_view,
    coverage_view,
    failures_view,
    groups_view,
    others_view,
    verdict_view,
)

EVIDENCE_BUDGET: Final = 4 * 1024 * 1024
"""Characters of evidence in one page."""
CARDS: Final = 150
"""Failures, and warnings, with a card."""


def validation_to_html(record: RunRecord, run_dir: Path | None = None) -> str:
    """Return the page of a validation.

    Args:
        record: The run.
        run_dir: Folder of the run, from which the evidence is read; without it the page has none.
    """
    templates = environment("critests.report.validation")
    script = source(templates, "filter.js")
    budget = Budget(EVIDENCE_BUDGET)
    evidence: dict[str, StoredEvidence] = {}
    lists = (
        failures_view(record),
        others_view(record, Outcome.WARNED),
        others_view(record, Outcome.KNOWN),
    )
    failed, warned, known = lists
    for found in lists:
        for test in [test for finding in found for test in finding.tests][:CARDS]:
            if run_dir is not None and test.evidence:
                evidence[test.id] = read_evidence(run_dir, test.evidence, budget)
    verdict = verdict_view(record)
    return templates.get_template("page.html.j2").render(
        record=record,
        verdict=verdict,
        lists=[
            (
                "failures",
                "Broken",
                failed,
                "One line per broken requirement; those that block most tests come first.",
            ),
            (
                "warned",
                "Warned",
                warned,
                "A SHOULD is broken, or a requirement of engineering judgement (†), which no text states.",
            ),
            ("known", "Known", known, "Known failures of this runtime, as listed in its expectations."),
        ],
        causes=causes_view(record),
        blocked=by_reason(with_outcome(record, Outcome.BLOCKED)),
        unsupported=by_reason(with_outcome(record, Outcome.UNSUPPORTED)),
        columns=[outcome for outcome, _ in verdict.tiles],
        areas=areas_view(record),
        groups=groups_view(record),
        capabilities=capabilities_view(record),
        coverage=coverage_view(record),
        machine=flat(record.machine),
        evidence=evidence,
        cards=CARDS,
        symbols=SYMBOLS,
        style=Markup(source(templates, "style.css")),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
