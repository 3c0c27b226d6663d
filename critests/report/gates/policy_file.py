"""Reading a policy file: every key and value is checked, and what is wrong is said with its line."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from critests import toml_file
from critests.record.versions import parse_condition
from critests.report.comparison.wording import read_amount, read_share
from critests.report.gates.policy import LEVELS, Bound, Policy, Waiver
from critests.toml_file import Table

POLICY_KEYS: Final = (
    "levels",
    "max-blocked",
    "quantile",
    "max-regression",
    "max-error-rate",
    "noisy-fails",
    "unmeasured-fails",
)
SUBJECTS: Final = ("requirement", "operation", "capability")
WAIVER_KEYS: Final = (*SUBJECTS, "test", "dimensions", "handlers", "runtime", "versions")
BOUND_KEYS: Final = (
    "dimensions",
    "quantile",
    "at-most",
    "at-least",
    "max-regression",
    "max-error-rate",
)


def read_policy(path: Path, *, known_requirement: Callable[[str], bool] | None = None) -> Policy:
    """Read a policy file.

    Args:
        path: The file.
        known_requirement: Says whether a requirement or an aspect is in the catalogue; without it ids are not
            checked.

    Raises:
        TomlMalformed: with file, line and what is wrong.
    """
    table = toml_file.read(path)
    table.expect(may=POLICY_KEYS, entries=("waiver", "benchmark"))
    return Policy(
        levels=table.take("levels", _levels, Policy.levels),
        max_blocked=table.take("max-blocked", _whole),
        quantile=table.take("quantile", _quantile, Policy.quantile),
        max_regression=table.take("max-regression", _share, Policy.max_regression),
        max_error_rate=table.take("max-error-rate", _share),
        noisy_fails=table.take("noisy-fails", toml_file.switch, Policy.noisy_fails),
        unmeasured_fails=table.take("unmeasured-fails", toml_file.switch, Policy.unmeasured_fails),
        waivers=tuple(_waiver(entry, known_requirement) for entry in table.entries("waiver")),
        bounds=tuple(_bound(entry) for entry in table.entries("benchmark")),
        source=path.name,
    )


def _waiver(table: Table, known_requirement: Callable[[str], bool] | None) -> Waiver:
    table.expect(needs=("reason", "owner", "expires"), may=WAIVER_KEYS)
    subjects = [name for name in SUBJECTS if name in table.values]
    if len(subjects) != 1:
        what = 'a waiver names one of "requirement", "operation" and "capability"'
        raise table.wrong(subjects[-1] if subjects else "", what)
    requirement = toml_file.text_that(known_requirement, "the catalogue has no requirement")
    return Waiver(
        requirement=table.take("requirement", requirement, ""),
        test=table.take("test", toml_file.text, ""),
        operation=table.take("operation", toml_file.text, ""),
        dimensions=table.take("dimensions", _dimensions, {}),
        capability=table.take("capability", toml_file.text, ""),
        handlers=table.take("handlers", toml_file.texts, ("*",)),
        runtime=table.take("runtime", toml_file.text, ""),
        versions=table.take("versions", lambda value: parse_condition(toml_file.text(value))),
        reason=table.need("reason", toml_file.text),
        owner=table.need("owner", toml_file.text),
        expires=table.need("expires", toml_file.day),
        line=table.line,
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
