"""The list of tests that a run would have: `critests run --list`."""

import json
import sys
from collections.abc import Iterable

from critests.record.files import write_atomically
from critests.run.known_tests import KnownTest
from critests.run.options import STANDARD_OUTPUT
from critests.run.run_settings import Settings

SAID = ("id", "name", "requirement", "level", "judgement", "area", "title", "slow")
"""What a list says of a test, as the record names it."""


def print_list(tests: Iterable[KnownTest], settings: Settings) -> None:
    """Print a test a line, and write them as JSON where `--json` says to.

    Raises:
        RecordError: that file cannot be written.
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


def listed(test: KnownTest, settings: Settings) -> dict[str, object]:
    """Return what a list of tests says of one, as values that JSON can hold."""
    identity = test.identity(settings)
    return {**{name: identity[name] for name in SAID}, "disruptive": test.disruptive}
