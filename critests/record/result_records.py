"""What became of one test, of one requirement, and what stood in the way of others."""

from dataclasses import dataclass, field
from typing import Final

from critests.catalogue.words import Level, Outcome
from critests.record.reasons import Reason

DETAIL_LIMIT: Final = 16 * 1024
"""Characters of `TestResult.detail` that are kept; the whole of it is in the evidence."""
REPEATS: Final = 20
"""How often a test is tried again that failed and that no list knows."""
REASON_LIMIT: Final = 2 * 1024
"""Characters that are kept of `reason` and `seen`."""


@dataclass(frozen=True, kw_only=True)
class TestResult:
    """What became of one test.

    Attributes:
        id: Stable id below the suite, `sandboxes/test_state.py::test_x[param]`.
        name: Name of the test function with its parameters, `test_x[param]`; unique in the suite.
        params: Argument name to the shown value of this case.
        requirement: The aspect that is tested, `SBX-26/error`, or empty for a test of no requirement.
        requirement_id: The requirement of that aspect, `SBX-26`.
        area: Area of the API, as in `critests.catalogue.words.Area`.
        group: Group of the requirement, `SBX`.
        level: How strongly the aspect binds.
        judgement: The aspect is our engineering judgement (†): a breach is a warning whatever its level.
        title: First line of the test's docstring: the promise.
        handler: Runtime handler that the test used; empty for the default one.
        outcome: What became of it.
        why: Why it is not passed, by which failures are grouped and judged.
        reason: The same as one sentence for a reader; nothing is decided by it.
        seen: All that was seen of a broken promise, as text for a reader.
        detail: Longer text, at most 16 KiB; the traceback for instance.
        reported_blocker: Requirement that the test itself names as what it hangs on, or empty: of a blocked
            test the one whose step failed, of a failed one that by which it is explained where it is broken.
        blocked_by: Requirement whose breach stood in the way of a blocked test, by the judgement over the
            whole run, or empty.
        setup_rpc: RPC that failed in the set-up of a blocked test, or empty.
        raw_rpc: RPC whose uncaught error failed the test, or empty.
        answer: gRPC code that the RPC of `raw_rpc` or `setup_rpc` answered, `UNKNOWN`; empty where none
            failed.
        after: RPC that changed something last before the test found what it saw, or empty.
        hung: The RPC named in `setup_rpc` or `raw_rpc` did not answer within its deadline.
        cause: Requirement whose breach this failure is only another sight of, or empty.
        form: Observed form of a DIV aspect, or empty.
        slow: The test has a built-in wait of more than two seconds.
        synthesized: No test function stands behind this result; the reason says where it comes from.
        stands_for: Id of the test in whose set-up the judgement found what this result says, or empty.
        started: Start, seconds since the epoch.
        seconds: Duration of the test's own body, in seconds.
        setup_seconds: Duration of its set-up, in seconds.
        teardown_seconds: Duration of its teardown, in seconds.
        worker: Name of the worker that ran it, or empty.
        evidence: Folder of its evidence relative to the run's folder, or empty.
        repeat_command: Command line that runs this test again.
        phase_of_failure: `setup`, `call`, `teardown` or empty.
        unproven_since: Kubernetes minor (`1.34`) that the field under test is from, where the runtime is not
            proven to know it; or empty.
        intermittent: A known failure covers it that shows only now and then, whether it failed or passed.
        tries: How often the test was tried where it failed and no list knew that; 0 where only once.
        failures: How many of these tries failed.
        known_as: What the list of known failures says of the one that covers it, or empty.
        expectation: Link or text of the expectations entry that made it `known`, or that covers a test which
            passed, unexpectedly or because it fails only now and then; or empty.
    """

    __test__ = False  # the name is no invitation for pytest

    id: str
    name: str
    params: dict[str, str] = field(default_factory=dict)
    requirement: str = ""
    requirement_id: str = ""
    area: str = ""
    group: str = ""
    level: Level = Level.MUST
    judgement: bool = False
    title: str = ""
    handler: str = ""
    outcome: Outcome
    why: Reason = Reason()  # noqa: RUF009 - it is frozen
    reason: str = ""
    seen: str = ""
    detail: str = ""
    reported_blocker: str = ""
    blocked_by: str = ""
    setup_rpc: str = ""
    raw_rpc: str = ""
    answer: str = ""
    after: str = ""
    hung: bool = False
    cause: str = ""
    form: str = ""
    slow: bool = False
    synthesized: bool = False
    stands_for: str = ""
    intermittent: bool = False
    known_as: str = ""
    tries: int = 0
    failures: int = 0
    started: float = 0.0
    seconds: float = 0.0
    setup_seconds: float = 0.0
    teardown_seconds: float = 0.0
    worker: str = ""
    evidence: str = ""
    repeat_command: str = ""
    phase_of_failure: str = ""
    unproven_since: str = ""
    expectation: str = ""

    @property
    def now_and_then(self) -> bool:
        """Whether the test failed in some of its tries only."""
        return self.failures < self.tries

    @property
    def by_chance(self) -> bool:
        """Whether a failure did not come again in as many tries as a verdict takes."""
        return self.failures == 1 and self.tries > REPEATS

    @property
    def function(self) -> str:
        """Name of the test function, without its parameters."""
        return self.name.partition("[")[0]

    @property
    def case(self) -> str:
        """Name of the test without the handler that it ran on, which a run of several puts into it."""
        if "runtime_handler" not in self.params or not self.name.endswith("]"):
            return self.name
        label, words = self.handler or "default", self.name[len(self.function) + 1 : -1]
        if words == label:
            return self.function
        if words.startswith(f"{label}-"):
            return f"{self.function}[{words.removeprefix(f'{label}-')}]"
        return f"{self.function}[{words.removesuffix(f'-{label}')}]"

    @property
    def total_seconds(self) -> float:
        """Set-up, body and teardown together, in seconds."""
        return self.setup_seconds + self.seconds + self.teardown_seconds


@dataclass(frozen=True, kw_only=True)
class RootCause:
    """One fault and its followers: tests that could not be judged because of it, and tests that failed of it
    as well.

    Attributes:
        requirement: Id of the requirement that judges the step.
        rpc: RPC that failed.
        shown_by: Id of the test that says what went wrong with it.
        reason: What went wrong with it, one sentence for a reader.
        blocked: Ids of the tests that it stood in the way of.
        failed: Ids of further tests that failed in the same way.
        outcome: What became of the requirement itself.
    """

    requirement: str
    rpc: str = ""
    shown_by: str = ""
    reason: str = ""
    blocked: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    outcome: Outcome = Outcome.FAILED


@dataclass(frozen=True, kw_only=True)
class RequirementVerdict:
    """What became of one requirement: the worst of its tests.

    Attributes:
        outcome: The verdict.
        aspects: Aspect as tests name it (`SBX-26/error`, or `SBA-17` where there is one) to its verdict.
        tests: Ids of its tests.
        forms: Observed forms of its DIV aspects: aspect to form.
    """

    outcome: Outcome
    aspects: dict[str, Outcome] = field(default_factory=dict)
    tests: list[str] = field(default_factory=list)
    forms: dict[str, str] = field(default_factory=dict)
