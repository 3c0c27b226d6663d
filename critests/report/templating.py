"""The environment that all pages are rendered in.

Everything that a template prints goes through `visible` (see `critests.report.texts`) and then through HTML
escaping, without exception: the environment's `finalize` and autoescape see to it.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from critests.record.results import TestResult
from critests.report.texts import cut, duration, moment, plural, visible

TEXT_LIMIT: Final = 64 * 1024
SYMBOLS: Final = {
    "passed": "✓",
    "failed": "✕",
    "warned": "!",
    "known": "≈",
    "unsupported": "∅",
    "blocked": "⊘",
    "error": "‼",
    "disabled": "○",
    "untested": "·",
}


@cache
def environment() -> Environment:
    """Return the environment of the templates in `critests/report/templates`."""
    made = Environment(
        loader=PackageLoader("critests.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "moment": moment,
        "duration": duration,
        "plural": plural,
        "kilobytes": _size,
        "brief": brief,
    }
    return made


def source(name: str) -> str:
    """Return the text of a file beside the templates."""
    loader = environment().loader
    assert loader is not None
    return loader.get_source(environment(), name)[0]


def brief(test: TestResult) -> str:
    """Return the shortest useful sentence about a test."""
    return test.seen or test.reason or test.title


def flat(facts: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    """Return nested facts as a list of names and texts."""
    found: list[tuple[str, str]] = []
    for name, value in facts.items():
        label = f"{prefix}{name}".replace("_", " ")
        if isinstance(value, Mapping):
            found += flat(value, f"{label} · ")
        elif isinstance(value, list) and all(isinstance(item, (str, int, float)) for item in value):
            found.append((label, ", ".join(str(item) for item in value)))
        elif isinstance(value, (dict, list)):
            found.append((label, json.dumps(value, ensure_ascii=False)))
        elif value is not None and value != "":
            found.append(
                (label, {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value))
            )
    return found


def _harmless(value: object) -> object:
    """Make every printed text harmless and bounded; what the templates themselves made passes."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(cut(value, TEXT_LIMIT))
    return value


def _size(number: int) -> str:
    return f"{number} bytes" if number < 1024 else f"{number / 1024:,.0f} KiB"
