"""An audit with a fault of every outcome."""

import dataclasses

from critests_proof.record import AuditCoverage, AuditRecord, FaultOutcome, FaultResult, TriedFault

NOTICED = FaultResult(
    fault="StopContainer:hangs",
    kind="call",
    text="StopContainer: hang",
    says="does not answer",
    outcome=FaultOutcome.NOTICED,
    rpc="StopContainer",
    breaks=["STP-01"],
    by="test_a",
    tried=[TriedFault("test_a", "failed", 1, "it did not answer")],
    candidates=4,
    seconds=3.0,
)
SURVIVED = FaultResult(
    fault="Version.response.version:wrong",
    kind="response",
    text="Version.response.version: change-last",
    says="reports another version",
    outcome=FaultOutcome.SURVIVED,
    rpc="Version",
    tried=[TriedFault("test_b[<script>]", "passed", 2), TriedFault("test_c", "blocked", 0)],
    candidates=5,
    seconds=1.0,
)


def other(outcome: FaultOutcome, evidence: str) -> FaultResult:
    """Return a fault that was not tried."""
    return dataclasses.replace(
        SURVIVED,
        fault=f"Version:{outcome.value.replace(' ', '-')}",
        outcome=outcome,
        tried=[],
        evidence=evidence,
    )


LOST = other(FaultOutcome.NOT_REACHED, "no test gets to Version")
FILLED = other(FaultOutcome.NEVER_FILLED, "never filled in what Version answered to 3 tests")
ABSENT = other(FaultOutcome.NOT_OFFERED, "containerd 2.1.9 has no Version")
SAME = other(FaultOutcome.EQUIVALENT, "nobody could tell")

AUDIT = AuditRecord(
    suite_version="0.1.0",
    runtime="containerd 2.1.9",
    started=1.7e9,
    seconds=60.0,
    tests=1456,
    faults_total=7,
    seed=7,
    tries=12,
    coverage={
        "request": AuditCoverage(fields=787, seen=297, missing=["Version.request.version"]),
        "response": AuditCoverage(fields=1451, seen=348),
    },
    faults=[NOTICED, SURVIVED, LOST, FILLED, ABSENT, SAME],
    passed=["test_a", "test_b[<script>]", "test_c", "test_d"],
)
