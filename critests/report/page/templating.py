"""The environment that all pages are rendered in.

Everything that a template prints goes through `visible` (see `critests.report.wording.texts`) and then
through HTML escaping, without exception: the environment's `finalize` and autoescape see to it.
"""

from functools import cache
from typing import Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from critests.report.facts.explanations import brief
from critests.report.wording.texts import cut, duration, moment, plural, visible

TEXT_LIMIT: Final = 64 * 1024
"""Characters of one text."""
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
def environment(room: str, *, limit: int = TEXT_LIMIT) -> Environment:
    """Return the environment of a room's templates, beside which are those that all pages share.

    Args:
        room: Package with a folder `templates`, such as `critests.report.validation`.
        limit: Characters of one text that are printed.
    """

    def harmless(value: object) -> object:
        """Make every printed text harmless and bounded; what the templates themselves made passes."""
        return (
            visible(cut(value, limit)) if isinstance(value, str) and not isinstance(value, Markup) else value
        )

    made = Environment(
        loader=ChoiceLoader([PackageLoader(room), PackageLoader("critests.report.page")]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=harmless,
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


def source(templates: Environment, name: str) -> str:
    """Return the text of a file beside the templates."""
    assert templates.loader is not None
    return templates.loader.get_source(templates, name)[0]


def _size(number: int) -> str:
    return f"{number} bytes" if number < 1024 else f"{number / 1024:,.0f} KiB"
