"""The result of a derived fault, for the record."""

from typing import Any

from critests_proof.derived.fault import DerivedFault
from critests_proof.record import FaultOutcome, FaultResult


def result_of(
    fault: DerivedFault,
    outcome: FaultOutcome,
    **more: Any,  # noqa: ANN401 - further fields of `FaultResult`
) -> FaultResult:
    """Return the result of a fault.

    Args:
        fault: the fault.
        outcome: its outcome.
        more: further fields.
    """
    return FaultResult(
        fault=fault.id,
        kind=fault.kind,
        text=fault.text,
        says=fault.says,
        outcome=outcome,
        rpc=fault.reach.rpc,
        breaks=list(fault.breaks),
        **more,
    )
