"""Results of aspects that a test did not judge: something that came to light in it."""

import dataclasses

from critests import catalogue
from critests.catalogue.words import Outcome
from critests.record.reasons import Reason
from critests.record.result_records import TestResult


def finding(name: str, aspect_name: str, why: Reason, during: TestResult) -> TestResult:
    """Return a failed result of an aspect that a test did not judge. Its name is unique in a run: only the
    first one counts.

    Args:
        name: of the result.
        aspect_name: of the aspect.
        why: the failure.
        during: the result of the test; its evidence and repeat command are those of the finding too.
    """
    requirement, aspect = catalogue.aspect(aspect_name)
    return dataclasses.replace(
        during,
        id=f"<{name}>",
        name=name,
        params={},
        requirement=aspect_name,
        requirement_id=requirement.id,
        area=requirement.area.value,
        group=requirement.group,
        level=aspect.level,
        judgement=aspect.judgement,
        title=requirement.statement,
        outcome=Outcome.FAILED,
        why=why,
        detail="",
        reported_blocker="",
        blocked_by="",
        setup_rpc="",
        raw_rpc="",
        answer="",
        after="",
        hung=False,
        form="",
        slow=False,
        phase_of_failure="teardown",
        unproven_since="",
        seconds=0.0,
        setup_seconds=0.0,
        teardown_seconds=0.0,
    )
