"""Objects of a test are removed; an object that cannot be removed is noted if the runtime still lists it."""

from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from critests.record.reasons import Reason, ReasonCode
from critests.run.object_cleanup import ObjectCleanup

NOT_REMOVED = Reason(
    code=ReasonCode.NOT_REMOVED, subject="container", where="1", seen="UNKNOWN", words="no such container"
)


class Refused(grpc.RpcError):
    """A removal that is refused without the code that says that nothing is there."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNKNOWN

    def details(self) -> str:
        return "no such container"


@pytest.mark.parametrize(
    ("entries", "noted"),
    [([], []), (["itself"], [NOT_REMOVED])],
    ids=["gone", "still there"],
)
def test_a_refused_removal_is_a_problem_only_of_what_is_still_there(
    entries: list[str], noted: list[Reason]
) -> None:
    def discard() -> None:
        raise Refused

    container: Any = SimpleNamespace(id="1", sandbox=None, discard=discard, entries=lambda: entries)
    cleanup = ObjectCleanup(containers=[container])

    cleanup.discard()

    assert cleanup.problems == noted
