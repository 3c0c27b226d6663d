"""The list of selected tests: `critests run --list`."""

import json
import sys
from collections.abc import Iterable

from critests.record.files import write_atomically
from critests.run.collected_tests import CollectedTest
from critests.run.options import STANDARD_OUTPUT
from critests.run.run_settings import Settings

LISTED = ("id", "name", "requirement", "level", "judgement", "area", "title", "slow")
"""Fields of a test in a list, named as in the record."""


def print_list(tests: Iterable[CollectedTest], settings: Settings) -> None:
    """Print one test per line, and write them as JSON to the file of `--json`.

    Raises:
        RecordError: the file cannot be written.
    """
    tests = list(tests)
    if settings.json is not None:
        text = json.dumps([listed(test, settings) for test in tests], ensure_ascii=False, indent=1) + "\n"
        if settings.json == STANDARD_OUTPUT:
            sys.stdout.write(text)
            return
        write_atomically(settings.json, text)
    for test in tests:
        aspect = test.judged.aspect
        level = f"{aspect.level}{'†' if aspect.judgement else ''}" if aspect else "-"
        sys.stdout.write(f"{test.aspect or '-':<24} {level:<8} {test.name}\n")


def listed(test: CollectedTest, settings: Settings) -> dict[str, object]:
    """Return the JSON object of a test in a list."""
    identity = test.identity(settings)
    return {**{name: identity[name] for name in LISTED}, "disruptive": test.disruptive}
