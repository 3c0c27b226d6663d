"""Objects of a test are removed; an object that cannot be removed is noted if the runtime still lists it."""

from types import SimpleNamespace
from typing import Any

import pytest

from critests.record.reasons import Reason, ReasonCode
from critests.run.object_cleanup import ObjectCleanup
from tests.refused import Refused

NOT_REMOVED = Reason(
    code=ReasonCode.NOT_REMOVED, subject="container", where="1", seen="UNKNOWN", words="no such container"
)


@pytest.mark.parametrize(
    ("entries", "noted"),
    [([], []), (["itself"], [NOT_REMOVED])],
    ids=["gone", "still there"],
)
def test_a_refused_removal_is_a_problem_only_of_what_is_still_there(
    entries: list[str], noted: list[Reason]
) -> None:
    def discard() -> None:
        raise Refused(details="no such container")

    container: Any = SimpleNamespace(id="1", sandbox=None, discard=discard, entries=lambda: entries)
    cleanup = ObjectCleanup(containers=[container])

    cleanup.discard()

    assert cleanup.problems == noted
