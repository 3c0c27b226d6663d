"""Combines the phases of a test into one result."""

import time
from dataclasses import dataclass, field, replace

import pytest

from critests.catalogue.rpcs import judge_of
from critests.catalogue.words import Outcome
from critests.node.observing.api_level import ProvenLevel
from critests.record.files import shortened
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import DETAIL_LIMIT, TestResult
from critests.run.classification import RawOutcome
from critests.run.collected_tests import CollectedTest, JudgedAspect
from critests.run.context import RunContext
from critests.run.failure_text import in_words
from critests.run.items import metadata_of
from critests.run.repeating import repeat_command
from critests.run.run_settings import Settings


@dataclass
class Phase:
    """One phase of a test that has run.

    Attributes:
        seconds: how long it took.
        raw: its outcome; None if nothing was raised.
        text: the traceback, as pytest prints it.
    """

    seconds: float = 0.0
    raw: RawOutcome | None = None
    text: str = ""


@dataclass
class TestProgress:
    """The progress of a test.

    Attributes:
        phases: by name: `setup`, `call`, `teardown`.
        started: seconds since the epoch.
        position: of the recorder, when the test began.
        log_position: end of the runtime's log, when the test began.
        evidence: where it was written, relative to the run's folder.
        form: the variant that a test of a DIV aspect observed.
        hangs_before: number of hanging calls before the phase.
    """

    phases: dict[str, Phase] = field(default_factory=dict)
    started: float = field(default_factory=time.time)
    position: int = 0
    log_position: float = 0.0
    evidence: str = ""
    form: str = ""
    hangs_before: int = 0

    @property
    def worst(self) -> tuple[str, RawOutcome] | None:
        """The phase that decides, and its outcome; None for a pass. A crash of the daemon comes before all
        else.
        """
        for name, phase in self.phases.items():
            if phase.raw is not None and phase.raw.judged_as:
                return name, phase.raw
        for name in ("setup", "call", "teardown"):
            raw = self.phases[name].raw if name in self.phases else None
            if raw is not None:
                return name, raw
        return None


def of_item(
    item: pytest.Item, progress: TestProgress, settings: Settings, context: RunContext | None, worker: str
) -> TestResult:
    """Return the raw result of a test; `critests.record.judgement.judge` judges it."""
    decided = progress.worst
    judged_as = decided[1].judged_as if decided is not None else ""
    test = metadata_of(item)
    judged = JudgedAspect.named(judged_as) if judged_as else test.judged
    values = {
        **test.identity(settings, judged),
        "worker": worker,
        "started": progress.started,
        "evidence": progress.evidence,
        "form": progress.form,
        "repeat_command": repeat_command(item, test.judged, settings, context),
    }
    for name, attribute in (
        ("setup", "setup_seconds"),
        ("call", "seconds"),
        ("teardown", "teardown_seconds"),
    ):
        values[attribute] = round(progress.phases[name].seconds, 4) if name in progress.phases else 0.0
    if decided is None:
        return TestResult(**values, outcome=Outcome.PASSED)
    name, raw = decided
    if raw.outcome is Outcome.FAILED and raw.hung and not about(judged, raw.rpc):
        raw = replace(raw, outcome=Outcome.BLOCKED, rpc="", setup_rpc=raw.rpc)
    if raw.outcome is Outcome.FAILED and raw.not_its_own and not _of_the_group(judged, raw.reported_blocker):
        raw = replace(raw, outcome=Outcome.BLOCKED)
    failed = raw.outcome is Outcome.FAILED
    return TestResult(
        **values,
        outcome=raw.outcome,
        why=raw.why,
        detail=shortened(progress.phases[name].text, DETAIL_LIMIT)
        if failed or raw.outcome is Outcome.ERROR
        else "",
        reported_blocker=raw.reported_blocker,
        setup_rpc=raw.setup_rpc,
        raw_rpc=raw.rpc,
        answer=raw.answer,
        hung=raw.hung,
        after=raw.last_mutation if failed else "",
        phase_of_failure=name,
        unproven_since=unproven(judged, settings, context.level if context else None) if failed else "",
    )


def _of_the_group(judged: JudgedAspect, requirement: str) -> bool:
    """Return whether a test belongs to the group of a requirement, and so may be about it."""
    return judged.requirement is not None and requirement.startswith(f"{judged.requirement.group}-")


def about(judged: JudgedAspect, rpc: str) -> bool:
    """Return whether a test is about an RPC, rather than only calling it; a test without a requirement is
    about every RPC that it calls.
    """
    return judged.requirement is None or rpc in judged.requirement.rpcs or judge_of(rpc) == judged.name


def of_deselected(test: CollectedTest, settings: Settings) -> TestResult:
    """Return the result of a test that the user's options leave out."""
    return TestResult(
        **test.identity(settings),
        outcome=Outcome.DISABLED,
        why=Reason(code=ReasonCode.DESELECTED),
    )


def of_crash(nodeid: str, words: str) -> TestResult:
    """Return the result of a test whose worker died."""
    _, _, rest = nodeid.rpartition("critests/validation/")
    why = in_words(words, ReasonCode.HARNESS)
    return TestResult(id=rest, name=rest.rpartition("::")[2], outcome=Outcome.ERROR, why=why, detail=words)


def unproven(judged: JudgedAspect, settings: Settings, level: ProvenLevel | None) -> str:
    """Return the release whose API the runtime must be proven to support before this aspect applies to it;
    empty if it is proven.
    """
    if judged.aspect is None:
        return ""
    since = judged.aspect.since_minor
    known = known_minor(settings, level)
    # CRI v1 came with Kubernetes 1.20, so every runtime has at least the fields of that release
    if since is None or known is None or since <= max(known, 20):
        return ""
    return judged.aspect.since


def known_minor(settings: Settings, level: ProvenLevel | None) -> int | None:
    """Return the newest minor of the API that the runtime is declared, or else proven, to support."""
    declared = settings.api_minor
    return declared if declared is not None else level.minor if level else None
