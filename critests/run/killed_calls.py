"""What a client does after the daemon was killed during one of its calls, and what it may expect then."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

import grpc
from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.catalogue.words import Outcome
from critests.client.call_recording import Call
from critests.client.connection import Connection
from critests.client.failures import in_words as error_in_words
from critests.conditions.condition_table import KILLS
from critests.conditions.kills import KILLED
from critests.node.starting.throwaway import RuntimeStartFailed
from critests.record.reasons import Reason, ReasonCode
from critests.run.after_kills import REMOVAL_SECONDS, BrokenAfterKill, until_ok
from critests.run.classification import RawOutcome
from critests.run.condition_rules import ConditionRule
from critests.run.outcomes import Blocked

T = TypeVar("T")

OTHERS: Final = "RST-22/lists"
"""The aspect by which objects that a call does not concern are still listed."""
EXITS: Final = "RST-06/code"
OF_EXITS: Final = frozenset({"exit_code", "reason"})
"""The aspect that judges how the runtime reports an exit that it could not see, and the fields."""
CREATION_SECONDS: Final = 1.0
"""For a repeated creation or start, which a test may expect to fail: the first call may find what the killed
daemon left, and remove it.
"""


@dataclass(frozen=True)
class Listed:
    """The ids of the sandboxes and containers that a runtime lists."""

    sandboxes: frozenset[str]
    containers: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        """All of them."""
        return self.sandboxes | self.containers

    @classmethod
    def on(cls, connection: Connection) -> "Listed":
        """Return what is listed now."""
        runtime = connection.runtime
        sandboxes = runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items
        containers = runtime.ListContainers(cri.ListContainersRequest()).containers
        return cls(frozenset(each.id for each in sandboxes), frozenset(each.id for each in containers))


@dataclass
class KilledCall:
    """A call during which the daemon was killed.

    Attributes:
        connection: to the runtime.
        request: of the call.
        again: makes the call.
        created: gets the call, with its result, if it has created what is listed.
        before: what was listed before the call.
        broken: what did not hold afterwards; None if all did.
        fails_again: whether the repeated call failed.
    """

    connection: Connection
    request: Message
    again: Callable[[], tuple[Message, Any]]
    created: Callable[[Call], None]
    before: Listed
    broken: BrokenAfterKill | None = None
    fails_again: bool = False

    @property
    def rpc(self) -> str:
        """The name of its RPC."""
        return type(self.request).__name__.removesuffix("Request")

    @property
    def judge(self) -> str:
        """The aspect that judges what follows."""
        return KILLED[type(self.request)].judge

    def judged(self, raw: RawOutcome) -> RawOutcome:
        """Return an outcome of the test with the aspect that judges it, if the kill explains it."""
        if raw.judged_as:
            return raw
        if self.broken is not None:
            return self.broken.outcome
        failed = raw.outcome in {Outcome.FAILED, Outcome.BLOCKED}
        if failed and self.fails_again and self.rpc in {raw.rpc, raw.setup_rpc}:
            return RawOutcome(Outcome.FAILED, raw.why, judged_as=self.judge)
        if raw.outcome is Outcome.FAILED and raw.why.subject in OF_EXITS:
            return replace(raw, judged_as=EXITS)
        return raw

    def resumed(self, restart: Callable[[], None], result: tuple[Message, Any] | None) -> tuple[Message, Any]:
        """Start the daemon again, check what it lists, and return the result of the call.

        Args:
            restart: starts the daemon.
            result: of the call; None if it failed, and is to be made again.

        Raises:
            BrokenAfterKill: the daemon did not come back, what was there before is not listed any more, or
                something cannot be stopped or removed.
            Blocked: the container was started and has ended.
            grpc.RpcError: the call fails again.
        """
        try:
            restart()
            self._check_others()
            return self._repeated() if result is None else result
        except RuntimeStartFailed as error:
            self.broken = BrokenAfterKill(self.judge, str(error))
            raise self.broken from error
        except BrokenAfterKill as broken:
            self.broken = broken
            raise
        except grpc.RpcError:
            self.fails_again = True
            raise

    def _repeated(self) -> tuple[Message, Any]:
        """Remove what the call has half created, make it again as the kubelet does, and return its result."""
        match self.request:
            case cri.RunPodSandboxRequest() as run:
                self._remove_sandboxes(run)
            case cri.CreateContainerRequest() as create:
                self._remove_containers(create)
            case cri.StartContainerRequest() as start:
                return self._started(start)
            case (
                cri.StopContainerRequest()
                | cri.RemoveContainerRequest()
                | cri.StopPodSandboxRequest()
                | cri.RemovePodSandboxRequest()
            ):
                return self._ensured(self.again, "the call fails again")
        return self._again()

    def _again(self) -> tuple[Message, Any]:
        return until_ok(self.again, CREATION_SECONDS * self.connection.deadlines.scale)

    def _check_others(self) -> None:
        """Check that what was listed before still is, apart from what the request removes."""
        now = Listed.on(self.connection)
        match self.request:
            case cri.RemovePodSandboxRequest() as remove:
                lost = self.before.sandboxes - now.sandboxes - {remove.pod_sandbox_id}
            case cri.RemoveContainerRequest() as remove:
                lost = self.before.all - now.all - {remove.container_id}
            case _:
                lost = self.before.all - now.all
        if lost:
            raise BrokenAfterKill(OTHERS, f"not listed any more: {', '.join(sorted(lost))}")

    def _remove_sandboxes(self, run: cri.RunPodSandboxRequest) -> None:
        runtime = self.connection.runtime
        for entry in runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items:
            if entry.id in self.before.sandboxes or entry.metadata != run.config.metadata:
                continue
            self._note(cri.RunPodSandboxResponse(pod_sandbox_id=entry.id))
            stop = cri.StopPodSandboxRequest(pod_sandbox_id=entry.id)
            remove = cri.RemovePodSandboxRequest(pod_sandbox_id=entry.id)
            self._remove(partial(runtime.StopPodSandbox, stop))
            self._remove(partial(runtime.RemovePodSandbox, remove))

    def _remove_containers(self, create: cri.CreateContainerRequest) -> None:
        runtime = self.connection.runtime
        for entry in runtime.ListContainers(cri.ListContainersRequest()).containers:
            of_call = entry.pod_sandbox_id == create.pod_sandbox_id
            if entry.id in self.before.containers or entry.metadata != create.config.metadata or not of_call:
                continue
            self._note(cri.CreateContainerResponse(container_id=entry.id))
            remove = cri.RemoveContainerRequest(container_id=entry.id)
            self._remove(partial(runtime.RemoveContainer, remove))

    def _started(self, start: cri.StartContainerRequest) -> tuple[Message, Any]:
        """Start a container that is still CREATED; one that is not need not have survived."""
        runtime, container = self.connection.runtime, start.container_id
        asked = cri.ContainerStatusRequest(container_id=container)
        state = runtime.ContainerStatus(asked).status.state
        if state == cri.CONTAINER_CREATED:
            return self._again()
        if state == cri.CONTAINER_RUNNING:
            response = cri.StartContainerResponse()
            self._note(response)
            return response, None
        remove = cri.RemoveContainerRequest(container_id=container)
        self._remove(partial(runtime.RemoveContainer, remove))
        raise Blocked(
            why=Reason(code=ReasonCode.NOT_UNDER_CONDITION, subject=KILLS, where=ConditionRule.ENDED.value)
        )

    def _note(self, response: Message) -> None:
        endpoint = self.connection.endpoint.text
        self.created(Call(self.rpc, self.request, response, "OK", "", time.time(), 0.0, endpoint=endpoint))

    def _ensured(self, call: Callable[[], T], failure: str) -> T:
        try:
            return until_ok(call, REMOVAL_SECONDS * self.connection.deadlines.scale)
        except grpc.RpcError as error:
            raise BrokenAfterKill(self.judge, f"{failure}: {error_in_words(error)}") from error

    def _remove(self, remove: Callable[[], object]) -> None:
        self._ensured(remove, "what the call has created cannot be removed")
