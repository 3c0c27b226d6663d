"""What a runtime is known to break, by its expectations: counted, and not reported again."""

import datetime as dt

from critests import catalogue
from critests.run.conclusion import known_failures
from critests.run.context import RunContext


def known_aspects(context: RunContext) -> frozenset[str]:
    """Return the aspects that this version of the runtime is known to break.

    An entry is about one test, and a sequence meets its promise elsewhere too: what breaks the same aspect in
    another way is not told from it.
    """
    version = context.version
    today = dt.datetime.now(dt.UTC).date()
    listed = {
        entry.requirement
        for entry in known_failures(context.settings, version.runtime_name).known
        if entry.versions.holds(version.runtime_version) and entry.expires >= today
    }
    aspects = catalogue.load().aspects
    return frozenset(name for name in aspects if name in listed or name.partition("/")[0] in listed)
