"""What a runtime is known to break, by its expectations: counted, and not reported again.

Only what an entry says it shows as in an exploration (`explored`) is known by it: another breach of the same
requirement is news.
"""

import datetime as dt
import fnmatch
from collections.abc import Callable

from critests.model import Breach
from critests.record.expectations import Expectations
from critests.run.conclusion import known_failures
from critests.run.context import RunContext


def known_breaches(context: RunContext) -> Callable[[Breach], bool]:
    """Return what tells the breaches that the runtime of a run is known for, in its version."""
    version = context.version
    known = known_failures(context.settings, version.runtime_name)
    return explored_before(known, version.runtime_version, dt.datetime.now(dt.UTC).date())


def explored_before(known: Expectations, version: str, today: dt.date) -> Callable[[Breach], bool]:
    """Return what tells the breaches that entries name for a version of the runtime."""
    patterns = [
        pattern
        for entry in known.known
        if entry.versions.holds(version) and entry.expires >= today
        for pattern in entry.explored
    ]
    return lambda breach: any(fnmatch.fnmatchcase(breach.signature, pattern) for pattern in patterns)
