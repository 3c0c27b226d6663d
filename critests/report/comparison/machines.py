"""Whether two machines are alike enough for their speeds to be compared, in words."""

from collections.abc import Mapping
from typing import Any, Final

from critests.record.machines import unlike
from critests.report.comparison.model import Difference, Machines
from critests.report.comparison.wording import amount

_ABSENT: Final = "not recorded"


def compare_machines(a: Mapping[str, Any], b: Mapping[str, Any]) -> Machines:
    """Compare two fingerprints as `unlike` does."""
    differences = [
        Difference(name=name, a=_shown(name, left), b=_shown(name, right))
        for name, left, right in unlike(a, b)
    ]
    return Machines(agree=not differences, differences=differences)


def _shown(name: str, value: object) -> str:
    if value is None:
        return _ABSENT
    if name == "memory" and isinstance(value, (int, float)):
        return amount(float(value), "B")
    return str(value) or "none"
