"""What a client may expect after the shims or monitors of its pod were killed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import grpc
from google.protobuf.message import Message

from critests.catalogue.words import Outcome
from critests.client.failures import in_words
from critests.conditions.condition_table import KILLED_MONITORS
from critests.conditions.killed_monitors import JUDGE
from critests.record.reasons import Reason, ReasonCode
from critests.run.after_kills import REMOVAL_SECONDS, BrokenAfterKill, until_ok
from critests.run.classification import RawOutcome
from critests.run.condition_rules import ConditionRule

LISTS: Final = frozenset({"ListPodSandbox", "ListContainers"})


@dataclass
class UnmonitoredPod:
    """A pod whose shims or monitors were killed before a call of a test.

    Attributes:
        id: of the sandbox.
        broken: what did not hold afterwards; None if all did.
    """

    id: str
    broken: BrokenAfterKill | None = None

    def end(self, call: Callable[[], tuple[Message, Any]], scale: float) -> tuple[Message, Any]:
        """Make the call until it succeeds, and return its result.

        Args:
            call: makes it.
            scale: of deadlines.

        Raises:
            BrokenAfterKill: it did not succeed.
        """
        try:
            return until_ok(call, REMOVAL_SECONDS * scale)
        except grpc.RpcError as error:
            self.broken = BrokenAfterKill(JUDGE, in_words(error))
            raise self.broken from error

    def judged(self, raw: RawOutcome) -> RawOutcome:
        """Return an outcome of the test as blocked: its containers may have ended with their monitors. The
        lists must be answered all the same.
        """
        if raw.judged_as or raw.rpc in LISTS:
            return raw
        if self.broken is not None:
            return self.broken.outcome
        if raw.outcome not in {Outcome.FAILED, Outcome.BLOCKED}:
            return raw
        why = Reason(
            code=ReasonCode.NOT_UNDER_CONDITION,
            subject=KILLED_MONITORS,
            where=ConditionRule.MONITOR.value,
            parts=[raw.why],
        )
        return RawOutcome(Outcome.BLOCKED, why, may_be_gone=raw.may_be_gone)
