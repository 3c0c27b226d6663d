"""The policy of a gate, a TOML file: levels that fail, and bounds on speed. `docs/comparing.md` has an
example.
"""

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from critests import toml_file
from critests.record.operations import Key
from critests.report.wording.quantities import read_amount, read_share
from critests.toml_file import Table

MUST, SHOULD, JUDGEMENT = "MUST", "SHOULD", "JUDGEMENT"
LEVELS: Final = (MUST, SHOULD, JUDGEMENT)
"""MUST is everything for which a run exits with 1, including optional features that are offered, and hangs.
JUDGEMENT is requirements of engineering judgement, marked †.
"""
POLICY_KEYS: Final = (
    "levels",
    "max-blocked",
    "quantile",
    "max-regression",
    "max-error-rate",
    "noisy-fails",
    "unmeasured-fails",
)
BOUND_KEYS: Final = (
    "dimensions",
    "quantile",
    "at-most",
    "at-least",
    "max-regression",
    "max-error-rate",
)


@dataclass(frozen=True, kw_only=True)
class Bound:
    """Bounds of one or several operations.

    Attributes:
        operation: Pattern of a scenario and its operation, `B-06 RunPodSandbox` or `B-18 *`.
        dimensions: Dimensions that must have these values.
        quantile: The quantile that is compared with the bounds; None for that of the policy.
        at_most: Upper bound of the quantile, in `unit`, or None.
        at_least: Lower bound, for rates, or None.
        unit: Unit of the bounds.
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

    def covers(self, key: Key) -> bool:
        """Whether the bounds apply to an operation."""
        scenario, operation, dimensions = key
        named = fnmatch.fnmatchcase(f"{scenario} {operation}", self.operation)
        return named and self.dimensions.items() <= dict(dimensions).items()


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The policy of a gate.

    Attributes:
        levels: Levels whose breaches fail, some of `LEVELS`.
        max_blocked: Number of tests that may be blocked; None for any.
        quantile: The quantile that is judged, 0.5 for the median.
        max_regression: Share by which an operation may be worse than the baseline's.
        max_error_rate: Share of an operation's calls that may fail; None for any.
        noisy_fails: Operations that are too noisy to judge fail.
        unmeasured_fails: Bounds that match no operation of the run fail, and so do operations of the baseline
            that were not measured.
        bounds: Bounds of operations; if several that match set the same limit, the last one applies.
        source: Name of the file, for messages.
    """

    levels: frozenset[str] = frozenset({MUST})
    max_blocked: int | None = None
    quantile: float = 0.5
    max_regression: float = 0.10
    max_error_rate: float | None = None
    noisy_fails: bool = False
    unmeasured_fails: bool = False
    bounds: tuple[Bound, ...] = ()
    source: str = "the policy"

    def bounds_of(self, key: Key) -> list[Bound]:
        """Return the bounds that apply to an operation."""
        return [bound for bound in self.bounds if bound.covers(key)]

    def regression_of(self, key: Key) -> float:
        """Return the share by which an operation may be worse than in the baseline."""
        own = [each.max_regression for each in self.bounds_of(key) if each.max_regression is not None]
        return own[-1] if own else self.max_regression

    def error_rate_of(self, key: Key) -> float | None:
        """Return the share of an operation's calls that may fail; None for any."""
        own = [each.max_error_rate for each in self.bounds_of(key) if each.max_error_rate is not None]
        return own[-1] if own else self.max_error_rate


def read_policy(path: Path) -> Policy:
    """Read a policy file.

    Args:
        path: The file.

    Raises:
        TomlMalformed: the file is malformed; the message names file, line and problem.
    """
    table = toml_file.read(path)
    if "waiver" in table.values:
        what = "write a waiver as an entry of a file of known failures, and pass it with --expectations"
        raise table.wrong("waiver", what)
    table.expect(may=POLICY_KEYS, entries=["benchmark"])
    return Policy(
        levels=table.take("levels", _levels, Policy.levels),
        max_blocked=table.take("max-blocked", _whole),
        quantile=table.take("quantile", _quantile, Policy.quantile),
        max_regression=table.take("max-regression", _share, Policy.max_regression),
        max_error_rate=table.take("max-error-rate", _share),
        noisy_fails=table.take("noisy-fails", toml_file.switch, Policy.noisy_fails),
        unmeasured_fails=table.take("unmeasured-fails", toml_file.switch, Policy.unmeasured_fails),
        bounds=tuple(_bound(entry) for entry in table.entries("benchmark")),
        source=path.name,
    )


def _bound(table: Table) -> Bound:
    table.expect(needs=["operation"], may=BOUND_KEYS)
    at_most, at_least = table.take("at-most", _amount), table.take("at-least", _amount)
    if at_most and at_least and at_most[1] != at_least[1]:
        what = f"at-least: its unit is not that of at-most ({at_least[1]} and {at_most[1]})"
        raise table.wrong("at-least", what)
    return Bound(
        operation=table.need("operation", toml_file.text),
        dimensions=table.take("dimensions", _dimensions, {}),
        quantile=table.take("quantile", _quantile),
        at_most=at_most[0] if at_most else None,
        at_least=at_least[0] if at_least else None,
        unit=(at_most or at_least or (0, ""))[1],
        max_regression=table.take("max-regression", _share),
        max_error_rate=table.take("max-error-rate", _share),
        line=table.line,
    )


def _levels(value: object) -> frozenset[str]:
    if not isinstance(value, list) or not all(each in LEVELS for each in value):
        msg = f"must be a list of {', '.join(LEVELS)}"
        raise ValueError(msg)
    return frozenset(value)


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        msg = "must be a whole number, 0 or more"
        raise ValueError(msg)
    return value


def _quantile(value: object) -> float:
    if not isinstance(value, float) or not 0 < value < 1:
        msg = "must be a number between 0 and 1, such as 0.99"
        raise ValueError(msg)
    return value


def _share(value: object) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1:
        return float(value)
    if not isinstance(value, str):
        msg = 'must be a share, such as "10%" or 0.1'
        raise TypeError(msg)
    return read_share(value)


def _amount(value: object) -> tuple[float, str]:
    if not isinstance(value, str):
        msg = 'must be a value with its unit, such as "250 ms", "64 MiB" or "20 /s"'
        raise TypeError(msg)
    return read_amount(value)


def _dimensions(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        msg = 'must be a table of texts, such as { containers = "100" }'
        raise ValueError(msg)
    return dict(value)
