"""Which RPCs hang, so that a hang costs one deadline and not one a call.

An RPC that let its whole deadline pass is looked at again with a short one when it is called next. If it
answers, nothing more comes of it: that one request hung. If not, calls to it are refused at once, and it is
looked at again now and then.
"""

import threading
import time
from dataclasses import dataclass

import grpc
from google.protobuf.message import Message

from critests.client.deadlines import Deadlines

PAUSES_SECONDS = (15.0, 30.0, 60.0)
"""Between two looks at an RPC that hangs; the last one for good."""
WHOLE = 0.95
"""Part of a deadline after which it has passed: a DEADLINE_EXCEEDED that comes before is the runtime's own
answer.
"""


class StillHangs(grpc.RpcError):
    """A call that was not made, or only waited for a short while, because calls to its RPC hung before."""

    def __init__(self, rpc: str, details: str) -> None:
        super().__init__(details)
        self.critests_rpc = rpc
        self._details = details

    def code(self) -> grpc.StatusCode:
        """Return the code that the calls before ended with."""
        return grpc.StatusCode.DEADLINE_EXCEEDED

    def details(self) -> str:
        """Return what happened before."""
        return self._details


@dataclass
class Hang:
    """One RPC that hangs.

    Attributes:
        waited: how long the first call that hung was waited for, in seconds.
        looks: how often it was looked at again in vain.
        next_look: when to look again, on the monotonic clock.
    """

    waited: float
    looks: int = 0
    next_look: float = 0.0


@dataclass(frozen=True)
class Met:
    """A call that met a hang.

    Attributes:
        rpc: its name.
        waited: how long the first such call was waited for, in seconds.
        first: whether it let its whole deadline pass, and was no look or was not made.
    """

    rpc: str
    waited: float
    first: bool


@dataclass(frozen=True)
class Allowance:
    """How long one call may take.

    Attributes:
        seconds: its deadline.
        tells: whether a call that takes all of it hangs; a test may set itself a shorter one.
        look: whether it is a look at an RPC that hung before.
    """

    seconds: float
    tells: bool
    look: bool = False


class Hangs:
    """What is known of one runtime's RPCs; safe to use from several threads."""

    def __init__(self, deadlines: Deadlines | None = None) -> None:
        self.deadlines = deadlines or Deadlines()
        self._hanging: dict[str, Hang] = {}
        self._met: list[Met] = []
        self._lock = threading.Lock()

    @property
    def met(self) -> list[Met]:
        """All calls so far that hung, or were refused because calls before them hung, in order."""
        return self._met

    def known(self) -> dict[str, float]:
        """Return the RPCs that hang now, each with how long a call was waited for, in seconds."""
        with self._lock:
            return {rpc: hang.waited for rpc, hang in self._hanging.items()}

    def take(self, known: dict[str, float]) -> None:
        """Believe what another process has found out; the next call is a look."""
        with self._lock:
            for rpc, waited in known.items():
                self._hanging.setdefault(rpc, Hang(waited))

    def forget(self) -> None:
        """Forget which RPCs hang: they are another runtime's from now on, or the same one mended."""
        with self._lock:
            self._hanging.clear()

    def words(self, rpc: str) -> str:
        """Say in a sentence that an RPC hangs."""
        return f"{rpc} did not answer within {self._hanging[rpc].waited:g} s"

    def allow(self, rpc: str, request: Message, timeout: float | None) -> Allowance:
        """Return how long a call may take.

        Args:
            rpc: its name.
            request: its message.
            timeout: the caller's own deadline in seconds; None for the usual one.

        Raises:
            StillHangs: the RPC hangs, and it is not yet time to look again.
        """
        usual = self.deadlines.seconds(rpc, request)
        wanted = timeout or usual
        if rpc not in self._hanging:
            return Allowance(wanted, wanted >= usual)
        with self._lock:
            hang = self._hanging.get(rpc)
            if hang is None:
                return Allowance(wanted, wanted >= usual)
            now = time.monotonic()
            if now < hang.next_look:
                self._met.append(Met(rpc, hang.waited, first=False))
                raise StillHangs(rpc, f"{self.words(rpc)}, and was not called again")
            # while one call looks, the others need not
            hang.next_look = now + PAUSES_SECONDS[min(hang.looks, len(PAUSES_SECONDS) - 1)]
            return Allowance(min(wanted, self.deadlines.look_seconds(request)), True, True)

    def ended(self, rpc: str, allowance: Allowance, code: grpc.StatusCode | None, seconds: float) -> bool:
        """Note how a call ended, and return whether it hung.

        Args:
            rpc: its name.
            allowance: what `allow` returned.
            code: how it ended; None for success.
            seconds: how long it took.
        """
        if code is not grpc.StatusCode.DEADLINE_EXCEEDED or seconds < WHOLE * allowance.seconds:
            if rpc in self._hanging and allowance.look:
                with self._lock:
                    self._hanging.pop(rpc, None)
            return False
        if not allowance.tells:
            return False
        with self._lock:
            hang = self._hanging.setdefault(rpc, Hang(round(seconds, 1)))
            self._met.append(Met(rpc, hang.waited, first=not allowance.look))
            if allowance.look:
                hang.looks += 1
                pause = PAUSES_SECONDS[min(hang.looks, len(PAUSES_SECONDS)) - 1]
                hang.next_look = time.monotonic() + pause
        return True
