"""Which RPCs hang, so that a hang costs one deadline in a run and not one per call.

An RPC that let its whole deadline pass is probed by its next call, with a short deadline. If that gets a
response, only the one request hung. If not, calls to it are refused at once, and it is probed again now and
then.
"""

import threading
import time
from dataclasses import dataclass

import grpc
from google.protobuf.message import Message

from critests.client.deadlines import Deadlines

PAUSES_SECONDS = (15.0, 30.0, 60.0)
"""Pauses between two probes of an RPC that hangs; the last one is repeated."""
WHOLE = 0.95
"""Share of a deadline after which it counts as passed: an earlier DEADLINE_EXCEEDED is the runtime's own
response.
"""


class StillHangs(grpc.RpcError):
    """A call that was not made, or only with a short deadline, because earlier calls to its RPC hung."""

    def __init__(self, rpc: str, details: str) -> None:
        super().__init__(details)
        self.critests_rpc = rpc
        self._details = details

    def code(self) -> grpc.StatusCode:
        """Return the code of the earlier calls."""
        return grpc.StatusCode.DEADLINE_EXCEEDED

    def details(self) -> str:
        """Return what happened before."""
        return self._details


@dataclass
class Hang:
    """One RPC that hangs.

    Attributes:
        waited: how long the first call that hung took, in seconds.
        probes: how many probes failed.
        next_probe: when to probe again, on the monotonic clock.
    """

    waited: float
    probes: int = 0
    next_probe: float = 0.0


@dataclass(frozen=True)
class HangingCall:
    """A call that hung, or that was refused because its RPC hangs.

    Attributes:
        rpc: its name.
        waited: how long the first call that hung took, in seconds.
        first: whether it used up its whole deadline; False for a probe or a refused call.
    """

    rpc: str
    waited: float
    first: bool


@dataclass(frozen=True)
class Allowance:
    """How long one call may take.

    Attributes:
        seconds: its deadline.
        conclusive: whether the RPC hangs if this call uses up its deadline; not if a test sets a shorter one.
        probe: whether it probes an RPC that hung before.
    """

    seconds: float
    conclusive: bool
    probe: bool = False


class Hangs:
    """What is known of one runtime's RPCs; safe in several threads."""

    def __init__(self, deadlines: Deadlines | None = None) -> None:
        self.deadlines = deadlines or Deadlines()
        self._hanging: dict[str, Hang] = {}
        self._calls: list[HangingCall] = []
        self._lock = threading.Lock()

    @property
    def calls(self) -> list[HangingCall]:
        """All calls so far that hung, or were refused because earlier ones hung, in order."""
        return self._calls

    def known(self) -> dict[str, float]:
        """Return the RPCs that hang, each with how long its first call took, in seconds."""
        with self._lock:
            return {rpc: hang.waited for rpc, hang in self._hanging.items()}

    def adopt(self, known: dict[str, float]) -> None:
        """Take over what another process knows; the next call is a probe."""
        with self._lock:
            for rpc, waited in known.items():
                self._hanging.setdefault(rpc, Hang(waited))

    def forget(self) -> None:
        """Forget which RPCs hang, after the runtime was restarted or replaced."""
        with self._lock:
            self._hanging.clear()

    def words(self, rpc: str) -> str:
        """Return a sentence that says that an RPC hangs."""
        return f"{rpc} did not answer within {self._hanging[rpc].waited:g} s"

    def allow(self, rpc: str, request: Message, timeout: float | None) -> Allowance:
        """Return how long a call may take.

        Args:
            rpc: its name.
            request: its message.
            timeout: the caller's own deadline in seconds; None for the default.

        Raises:
            StillHangs: the RPC hangs, and it is not yet time to probe it again.
        """
        usual = self.deadlines.seconds(rpc, request)
        seconds = timeout or usual
        if rpc not in self._hanging:
            return Allowance(seconds, seconds >= usual)
        with self._lock:
            hang = self._hanging.get(rpc)
            if hang is None:
                return Allowance(seconds, seconds >= usual)
            now = time.monotonic()
            if now < hang.next_probe:
                self._calls.append(HangingCall(rpc, hang.waited, first=False))
                raise StillHangs(rpc, f"{self.words(rpc)}, and was not called again")
            # only one call probes at a time
            hang.next_probe = now + PAUSES_SECONDS[min(hang.probes, len(PAUSES_SECONDS) - 1)]
            return Allowance(min(seconds, self.deadlines.probe_seconds(request)), True, True)

    def ended(self, rpc: str, allowance: Allowance, code: grpc.StatusCode | None, seconds: float) -> bool:
        """Note how a call ended, and return whether it hung.

        Args:
            rpc: its name.
            allowance: the result of `allow`.
            code: its error code; None on success.
            seconds: how long it took.
        """
        if code is not grpc.StatusCode.DEADLINE_EXCEEDED or seconds < WHOLE * allowance.seconds:
            if rpc in self._hanging and allowance.probe:
                with self._lock:
                    self._hanging.pop(rpc, None)
            return False
        if not allowance.conclusive:
            return False
        with self._lock:
            hang = self._hanging.setdefault(rpc, Hang(round(seconds, 1)))
            self._calls.append(HangingCall(rpc, hang.waited, first=not allowance.probe))
            if allowance.probe:
                hang.probes += 1
                pause = PAUSES_SECONDS[min(hang.probes, len(PAUSES_SECONDS)) - 1]
                hang.next_probe = time.monotonic() + pause
        return True
