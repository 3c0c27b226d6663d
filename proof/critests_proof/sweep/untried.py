"""The faults that need not be tried, because no test can notice them."""

from collections.abc import Sequence

from critests_proof.derived.fault import DerivedFault
from critests_proof.record import FaultOutcome, FaultResult
from critests_proof.sweep.candidates import Candidates
from critests_proof.sweep.equivalents import Equivalent, why_equivalent
from critests_proof.sweep.exercise import Exercise
from critests_proof.sweep.sweep_results import result_of


def looks_there(unsupported: Sequence[str]) -> str:
    """Return the evidence that the runtime does not offer the feature of a fault."""
    return f"the tests that look there are unsupported here: {', '.join(unsupported[:3])}"


def untried(
    fault: DerivedFault, exercise: Exercise, candidates: Candidates, known: tuple[Equivalent, ...]
) -> FaultResult | None:
    """Return the result of a fault that needs no test run; None if it needs one.

    Args:
        fault: the fault.
        exercise: the recording on this runtime.
        candidates: the tests for each fault.
        known: the faults that are indistinguishable from correct behaviour.
    """
    why = why_equivalent(fault.id, known)
    if why:
        return result_of(fault, FaultOutcome.EQUIVALENT, evidence=why)
    if fault.reach.rpc in exercise.absent:
        why = f"{exercise.runtime} has no {fault.reach.rpc}"
        return result_of(fault, FaultOutcome.NOT_OFFERED, evidence=why)
    why = exercise.never_filled(fault)
    if why:
        return result_of(fault, FaultOutcome.NEVER_FILLED, evidence=why)
    if candidates.for_fault(fault):
        return None
    if unsupported := candidates.not_offered(fault):
        return result_of(fault, FaultOutcome.NOT_OFFERED, evidence=looks_there(unsupported))
    failing = candidates.failing(fault)
    why = (
        f"only tests get there that do not pass without a fault: {', '.join(failing[:3])}"
        if failing
        else f"no test gets to {fault.reach}"
    )
    return result_of(fault, FaultOutcome.NOT_REACHED, evidence=why)
