"""Results of aspects that a test did not judge: something that came to light in it."""

from critests.catalogue.words import Outcome
from critests.record.reasons import Reason
from critests.record.result_records import TestResult
from critests.run.collected_tests import JudgedAspect


def finding(name: str, aspect_name: str, why: Reason, during: TestResult) -> TestResult:
    """Return a failed result of an aspect that a test did not judge. Its name is unique in a run: only the
    first one counts.

    Args:
        name: of the result.
        aspect_name: of the aspect.
        why: the failure.
        during: the result of the test; its evidence and repeat command are those of the finding too.
    """
    return TestResult(
        id=f"<{name}>",
        name=name,
        **JudgedAspect.named(aspect_name).fields,
        handler=during.handler,
        outcome=Outcome.FAILED,
        why=why,
        started=during.started,
        worker=during.worker,
        evidence=during.evidence,
        repeat_command=during.repeat_command,
        phase_of_failure="teardown",
    )
