"""Results of tests and requirements, and root causes."""

from dataclasses import dataclass, field
from typing import Final

from critests.catalogue.words import Level, Outcome
from critests.record.reasons import Reason

DETAIL_LIMIT: Final = 16 * 1024
"""Characters stored of `TestResult.detail`; the evidence has all of it."""
REPEATS: Final = 20
"""How often a new failure is repeated."""
CONDITION_REPEATS: Final = 5
"""How often a new failure under a condition is repeated with the condition, and how often without."""
REASON_LIMIT: Final = 2 * 1024
"""Characters stored of `reason` and `seen`."""


@dataclass(frozen=True, kw_only=True)
class TestResult:
    """The result of one test.

    Attributes:
        id: Stable id below the suite, `sandboxes/test_state.py::test_x[param]`.
        name: Name of the test function with its parameters, `test_x[param]`; unique in the suite.
        params: Parameter name to its value as text.
        requirement: The aspect that is tested, `SBX-26/error`, or empty for a test of no requirement.
        requirement_id: The requirement of that aspect, `SBX-26`.
        area: Area of the API, as in `critests.catalogue.words.Area`.
        group: Group of the requirement, `SBX`.
        level: How strongly the aspect binds.
        judgement: The aspect is our engineering judgement (†): a breach is a warning whatever its level.
        title: First sentence of the test's docstring.
        handler: Runtime handler that the test used; empty for the default one.
        outcome: Its outcome.
        why: Why it did not pass, as data for grouping and judging.
        reason: The same as one sentence for a reader; never parsed.
        seen: The observed values of a failure, as text for a reader.
        detail: Longer text, at most 16 KiB; the traceback for instance.
        reported_blocker: Requirement that the test itself names, or empty: for a blocked test, the
            requirement of the failed step; for a failed test, one whose failure would explain this one.
        blocked_by: Requirement whose failure blocked the test, by the judgement of the whole run, or empty.
        setup_rpc: RPC that failed in the set-up of a blocked test, or empty.
        raw_rpc: RPC whose uncaught error failed the test, or empty.
        answer: gRPC code of the RPC in `raw_rpc` or `setup_rpc`, such as `UNKNOWN`; empty if none failed.
        after: RPC that last changed something before an assertion failed, or empty.
        hung: The RPC in `setup_rpc` or `raw_rpc` did not respond within its deadline.
        cause: Requirement whose failure this one only repeats, or empty.
        form: Observed variant of a DIV aspect, or empty.
        slow: The test has a built-in wait of more than two seconds.
        synthesized: The result is not of a test function; the reason has its origin.
        stands_for: Id of the test whose set-up the result is from, or empty.
        started: Start, seconds since the epoch.
        seconds: Duration of the test's own body, in seconds.
        setup_seconds: Duration of its set-up, in seconds.
        teardown_seconds: Duration of its teardown, in seconds.
        worker: Name of the worker that ran it, or empty.
        evidence: Folder of its evidence relative to the run's folder, or empty.
        repeat_command: Command line that runs this test again.
        phase_of_failure: `setup`, `call`, `teardown` or empty.
        unproven_since: Kubernetes minor (`1.34`) that added the field under test, if the runtime is not
            proven to support it; or empty.
        intermittent: An intermittent known failure covers it, whether it failed or passed.
        tries: How often a new failure was tried; 0 if only once.
        failures: How many of these tries failed.
        plain_tries: How often a new failure under a condition was tried without the condition.
        plain_failures: How many of these tries failed.
        known_as: Reason in the known failure that covers it, or empty.
        expectation: Link or text of the known failure that covers it, whether it failed or passed; or empty.
    """

    __test__ = False  # pytest would collect it by its name

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
    plain_tries: int = 0
    plain_failures: int = 0
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
    def only_under_condition(self) -> bool:
        """Whether the failure recurred under the conditions of the run, and never occurred without them."""
        return self.failures > 1 and self.plain_tries > 0 and not self.plain_failures

    @property
    def by_chance(self) -> bool:
        """Whether a failure did not recur in enough tries for a verdict."""
        return self.failures == 1 and self.tries > REPEATS

    @property
    def function(self) -> str:
        """Name of the test function, without its parameters."""
        return self.name.partition("[")[0]

    @property
    def case(self) -> str:
        """Name of the test without the handler, which a run with several handlers adds to the name."""
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
    """One broken requirement and its followers: tests that it blocked, and failures that only repeat it.

    Attributes:
        requirement: Id of the requirement that judges the step.
        rpc: RPC that failed.
        shown_by: Id of the test that shows the failure.
        reason: The failure, one sentence for a reader.
        blocked: Ids of the tests that it blocked.
        failed: Ids of further tests that failed in the same way.
        outcome: Outcome of the requirement itself.
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
    """The verdict of one requirement: the worst outcome of its tests.

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
