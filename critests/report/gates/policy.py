"""What a gate lets pass: levels that block, waivers, bounds on speed. Written as TOML; `docs/comparing.md`
has an example.
"""

import datetime as dt
import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from critests.record.results import TestResult
from critests.record.versions import VersionCondition

MUST, SHOULD, JUDGEMENT = "MUST", "SHOULD", "JUDGEMENT"
LEVELS: Final = (MUST, SHOULD, JUDGEMENT)
"""MUST is whatever ends a run with 1: optional features that are offered and hangs are in it. JUDGEMENT are
the promises marked †.
"""


@dataclass(frozen=True, kw_only=True)
class Waiver:
    """Something that may stand for a while. It names a requirement, an operation or a capability.

    Attributes:
        requirement: A requirement or an aspect, `STP-09` or `SBX-26/error`; or empty.
        test: Name of the test function, with `[param]` for one case only; empty for all tests of the
            requirement.
        operation: Pattern of a scenario and its operation, `B-06 RunPodSandbox`; or empty.
        dimensions: Of the operation, those that must be so.
        capability: Name of a capability; or empty.
        handlers: Patterns of the runtime handlers that it holds for.
        runtime: Name of the runtime that it holds for; empty for all.
        versions: Versions of the runtime that it holds for; None for all.
        reason: Why.
        owner: Who looks after it.
        expires: Last day on which it holds.
        line: Its line in the policy file.
    """

    requirement: str = ""
    test: str = ""
    operation: str = ""
    dimensions: Mapping[str, str] = field(default_factory=dict)
    capability: str = ""
    handlers: tuple[str, ...] = ("*",)
    runtime: str = ""
    versions: VersionCondition | None = None
    reason: str
    owner: str
    expires: dt.date
    line: int = 0

    @property
    def subject(self) -> str:
        """What it names."""
        return self.requirement or self.operation or self.capability

    def holds_for(self, runtime: str, version: str) -> bool:
        """Say whether it speaks of this runtime at all."""
        return self.runtime in {"", runtime} and (self.versions is None or self.versions.holds(version))

    def covers_test(self, test: TestResult) -> bool:
        """Say whether it speaks of this test."""
        return (
            bool(self.requirement)
            and self.requirement in {test.requirement, test.requirement_id}
            and self.test in {"", test.name, test.function}
            and any(fnmatch.fnmatchcase(test.handler, pattern) for pattern in self.handlers)
        )

    def covers_aspect(self, aspect: str) -> bool:
        """Say whether it speaks of a whole aspect."""
        return (
            bool(self.requirement)
            and not self.test
            and self.requirement in {aspect, aspect.partition("/")[0]}
        )

    def covers_operation(self, scenario: str, operation: str, dimensions: Mapping[str, str]) -> bool:
        """Say whether it speaks of this operation."""
        return bool(self.operation) and matches_operation(
            self.operation, self.dimensions, scenario, operation, dimensions
        )


@dataclass(frozen=True, kw_only=True)
class Bound:
    """What one operation, or several, may cost.

    Attributes:
        operation: Pattern of a scenario and its operation, `B-06 RunPodSandbox` or `B-18 *`.
        dimensions: Those that must be so.
        quantile: The quantile that is judged; None for that of the policy.
        at_most: Upper bound of the quantile, in `unit`; None for none.
        at_least: Lower bound, for rates; None for none.
        unit: Of the bounds.
        max_regression: Share by which it may be worse than the baseline; None for that of the policy.
        max_error_rate: Share of calls that may fail; None for that of the policy.
        line: Its line in the policy file.
    """

    operation: str
    dimensions: Mapping[str, str] = field(default_factory=dict)
    quantile: float | None = None
    at_most: float | None = None
    at_least: float | None = None
    unit: str = ""
    max_regression: float | None = None
    max_error_rate: float | None = None
    line: int = 0

    def covers(self, scenario: str, operation: str, dimensions: Mapping[str, str]) -> bool:
        """Say whether it speaks of this operation."""
        return matches_operation(self.operation, self.dimensions, scenario, operation, dimensions)


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What a gate lets pass.

    Attributes:
        levels: Which breaches block: some of `LEVELS`.
        max_blocked: Number of tests that may be blocked; None for any.
        quantile: The quantile that is judged, 0.5 for the median.
        max_regression: Share by which an operation may be worse than the baseline's.
        max_error_rate: Share of an operation's calls that may fail; None for any.
        noisy_fails: What is too noisy to be judged fails.
        unmeasured_fails: A bound that matches nothing in the run fails, and so does an operation of the
            baseline that was not measured.
        waivers: What may stand for a while.
        bounds: What operations may cost; of several that match, the last one that says something holds.
        source: Name of the file, for messages.
    """

    levels: frozenset[str] = frozenset({MUST})
    max_blocked: int | None = None
    quantile: float = 0.5
    max_regression: float = 0.10
    max_error_rate: float | None = None
    noisy_fails: bool = False
    unmeasured_fails: bool = False
    waivers: tuple[Waiver, ...] = ()
    bounds: tuple[Bound, ...] = ()
    source: str = "the policy"


def matches_operation(
    pattern: str, wanted: Mapping[str, str], scenario: str, operation: str, dimensions: Mapping[str, str]
) -> bool:
    """Say whether a pattern with dimensions speaks of an operation."""
    named = fnmatch.fnmatchcase(f"{scenario} {operation}", pattern)
    return named and all(dimensions.get(name) == value for name, value in wanted.items())
