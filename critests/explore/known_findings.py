"""What a runtime is known to break, by its known failures: counted, and not reported again.

An entry covers only the breaches that match its `explored` patterns: another breach of the same requirement
is reported.
"""

import datetime as dt
import fnmatch
from collections.abc import Callable

from critests.model import Breach
from critests.record.expectations import Expectations
from critests.run.conclusion import known_failures
from critests.run.context import RunContext


def known_breaches(context: RunContext) -> Callable[[Breach], bool]:
    """Return a function that recognises the breaches for which the runtime of a run is known in its
    version.
    """
    version = context.version
    known = known_failures(context.settings, version.runtime_name)
    return explored_before(known, version.runtime_version, dt.datetime.now(dt.UTC).date())


def explored_before(known: Expectations, version: str, today: dt.date) -> Callable[[Breach], bool]:
    """Return a function that recognises the breaches that entries name for a version of the runtime."""
    patterns = [
        pattern
        for entry in known.known
        if entry.versions.holds(version) and entry.expires >= today
        for pattern in entry.explored
    ]
    return lambda breach: any(fnmatch.fnmatchcase(breach.signature, pattern) for pattern in patterns)
