"""The Jinja environment of all pages.

Its `finalize` and autoescape pass everything that a template prints through `visible` (see
`critests.report.wording.texts`) and then through HTML escaping.
"""

import importlib.util
import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import ChoiceLoader, Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from critests.report.facts.explanations import brief
from critests.report.wording.condition_words import conditions_in_words
from critests.report.wording.texts import cut, duration, plural, utc_time, visible

_UNBROKEN: Final = re.compile(r"(?<!\S)(--[a-z][a-z-]*|\(?[+-]?[\d.,]+ (?:%|[kMG]?B|[mµ]?s|/s)(?!\w)\)?)")
"""Names of options, which browsers break at their hyphens, and numbers with their units."""
TEXT_LIMIT: Final = 64 * 1024
"""Characters of one text, by default."""
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
    "partial": "◐",
}


@cache
def environment(package: str, *, limit: int = TEXT_LIMIT) -> Environment:
    """Return an environment with the templates of a package and those that all pages share.

    Args:
        package: Package with a folder `templates`, such as `critests.report.validation`.
        limit: Characters of one text that are printed.
    """

    def harmless(value: object) -> object:
        """Escape and cut a printed text; markup of the templates themselves is not changed."""
        return (
            visible(cut(value, limit)) if isinstance(value, str) and not isinstance(value, Markup) else value
        )

    templates = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("critests.report.page")]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=harmless,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_compiled_templates(),
    )
    templates.filters |= {
        "utc_time": utc_time,
        "conditions_in_words": conditions_in_words,
        "duration": duration,
        "plural": plural,
        "kilobytes": _size,
        "brief": brief,
        "unbroken": unbroken,
    }
    return templates


def unbroken(text: str) -> Markup:
    """Return a text in which no line ends within the name of an option or before a unit."""
    span = Markup('<span class="unbroken">{}</span>')
    parts = enumerate(_UNBROKEN.split(visible(text)))
    return Markup("").join(span.format(part) if number % 2 else escape(part) for number, part in parts)


def source(templates: Environment, name: str) -> str:
    """Return the text of a file in a folder of templates."""
    assert templates.loader is not None
    return templates.loader.get_source(templates, name)[0]


def _compiled_templates() -> FileSystemBytecodeCache | None:
    """Return the cache of compiled templates, next to the compiled modules; None if Python writes none."""
    folder = Path(importlib.util.cache_from_source(__file__)).parent
    if sys.dont_write_bytecode or not os.access(folder, os.W_OK):
        return None
    return FileSystemBytecodeCache(str(folder), "template-%s.cache")


def _size(number: int) -> str:
    return f"{number} bytes" if number < 1024 else f"{number / 1024:,.0f} KiB"
