"""A comparison as JSON, as described in `docs/comparing.md`. A change that breaks readers increases
`schema_version`.
"""

import json
from typing import Final

from critests.record.codec import to_plain
from critests.report.comparison.answers import answer_rows, headline
from critests.report.comparison.model import RunComparison

SCHEMA: Final = "critests.comparison"
SCHEMA_VERSION: Final = 1


def comparison_to_json(comparison: RunComparison) -> str:
    """Return the JSON form, with a line end."""
    return json.dumps(comparison_to_plain(comparison), ensure_ascii=True, indent=1, allow_nan=False) + "\n"


def comparison_to_plain(comparison: RunComparison) -> dict[str, object]:
    """Return the content of the JSON form."""
    body = to_plain(comparison)
    assert isinstance(body, dict)
    counts = {
        "verdicts": dict(sorted(comparison.speed.counts().items())) if comparison.speed else {},
        "requirements": {
            group.value: len(members) for group, members in comparison.conformance.grouped().items()
        }
        if comparison.conformance
        else {},
    }
    rows = answer_rows(comparison)
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "headline": headline(rows),
        "table": to_plain(rows),
        "counts": to_plain(counts),
        **body,
    }
