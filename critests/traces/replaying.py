"""Plays a trace on another runtime: with names and ids of its own, in the recorded order, at the recorded
pace or as fast as it goes.

A call waits for all that had been answered before it began in the recording, so that what was done side by
side is done side by side again, and an id is known before it is used. Images become the suite's own, and
commands a process that waits: a trace is the shape of a workload, not its programs.
"""

import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf import json_format
from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.audit.language.descriptors import rpcs
from critests.client import Connection
from critests.client.failures import code_of
from critests.lifecycle.requests import ImageName, RequestBuilder
from critests.traces.trace import Entry

CLIENTS = 16
"""Calls at a time."""
NOT_PLAYED = frozenset({"Exec", "Attach", "PortForward", "CheckpointContainer", "UpdateRuntimeConfig"})
"""RPCs that need a client of their own, or change the node; streams are left out too."""
IDS = ("pod_sandbox_id", "container_id", "image_ref")
"""Fields of answers that later calls name."""
SKIPPED = "SKIPPED"
"""Instead of a code: the call names what a call before it was to make, and has not made. The recorded id
could be somebody's on this runtime.
"""
WAITING = ("/bin/sh", "-c", "trap 'exit 0' TERM; sleep 100000 & wait")


@dataclass(frozen=True)
class Played:
    """A call of a trace, and what came of it.

    Attributes:
        recorded: the call.
        code: name of the gRPC status code.
        response: the message, by field names of the API; empty where the call failed.
        seconds: how long it took.
    """

    recorded: Entry
    code: str
    response: dict[str, Any]
    seconds: float


@dataclass
class Replay:
    """Plays one trace on one runtime.

    Attributes:
        connection: to the runtime.
        requests: whose run's label everything carries, and where logs go.
        image: what every container is made of.
        speed: how much faster than recorded; 0 for as fast as it goes.
        ids: of what it has made, by the recorded ones.
    """

    connection: Connection
    requests: RequestBuilder
    image: ImageName
    speed: float = 1.0
    ids: dict[str, str] = field(default_factory=dict, init=False)
    _sandboxes: dict[str, cri.PodSandboxConfig] = field(default_factory=dict, init=False)

    def run(self, entries: Sequence[Entry]) -> list[Played]:
        """Play the calls, and return what came of them in the recorded order."""
        begun = time.monotonic()
        going: list[tuple[float, Future[Played]]] = []
        results: list[Future[Played]] = []
        with ThreadPoolExecutor(CLIENTS) as clients:
            for entry in _playable(entries):
                wait([future for ended, future in going if ended <= entry.at])
                going = [(ended, future) for ended, future in going if not future.done()]
                if self.speed:
                    time.sleep(max(0.0, begun + entry.at / self.speed - time.monotonic()))
                future = clients.submit(self._play, entry)
                going.append((entry.ended, future))
                results.append(future)
        return [future.result() for future in results]

    def _play(self, entry: Entry) -> Played:
        named = {entry.request[name] for name in IDS if entry.request.get(name)}
        if not named <= self.ids.keys():
            return Played(entry, SKIPPED, {}, 0.0)
        rpc = rpcs()[entry.rpc]
        request = self._own(entry.rpc, self._translated(rpc.request, entry.request))
        stub = self.connection.images if "Image" in entry.rpc else self.connection.runtime
        begun = time.monotonic()
        try:
            answer = getattr(stub, entry.rpc)(request)
        except grpc.RpcError as error:
            return Played(entry, code_of(error)[0], {}, time.monotonic() - begun)
        seconds = time.monotonic() - begun
        response = json_format.MessageToDict(answer, preserving_proto_field_name=True)
        for name in IDS:
            if entry.response.get(name) and response.get(name):
                self.ids[entry.response[name]] = response[name]
        if isinstance(request, cri.RunPodSandboxRequest) and entry.response.get("pod_sandbox_id"):
            self._sandboxes[response["pod_sandbox_id"]] = request.config
        return Played(entry, "OK", response, seconds)

    def _translated(self, kind: type[Message], plain: dict[str, Any]) -> Message:
        """Return a request with the ids of this runtime in place of the recorded ones."""
        return json_format.ParseDict(self._with_own_ids(plain), kind(), ignore_unknown_fields=True)

    def _with_own_ids(self, value: Any) -> Any:  # noqa: ANN401 - JSON data
        if isinstance(value, str):
            return self.ids.get(value, value)
        if isinstance(value, dict):
            return {key: self._with_own_ids(inner) for key, inner in value.items()}
        return [self._with_own_ids(inner) for inner in value] if isinstance(value, list) else value

    def _own(self, rpc: str, request: Any) -> Any:  # noqa: ANN401 - messages of several types
        """Return a request that makes and names only what is this run's own."""
        if isinstance(request, cri.RunPodSandboxRequest):
            request.config.CopyFrom(self._own_sandbox(request.config))
            request.runtime_handler = ""
        elif isinstance(request, cri.CreateContainerRequest):
            request.config.CopyFrom(self._own_container(request.config))
            sandbox = self._sandboxes.get(request.pod_sandbox_id)
            if sandbox is not None:
                request.sandbox_config.CopyFrom(sandbox)
        elif isinstance(request, cri.ExecSyncRequest):
            del request.cmd[:]
            request.cmd.extend(["/bin/sh", "-c", "exit 0"])
        elif rpc in {"PullImage", "ImageStatus"}:
            request.image.CopyFrom(cri.ImageSpec(image=self.image.written))
            if rpc == "PullImage":
                request.ClearField("auth")
        return request

    def _own_sandbox(self, config: cri.PodSandboxConfig) -> cri.PodSandboxConfig:
        metadata = config.metadata
        return self.requests.sandbox(
            metadata.name,
            namespace=metadata.namespace or "default",
            uid=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.requests.run.id}/{metadata.uid}")),
            attempt=metadata.attempt,
            labels=dict(config.labels),
            annotations=dict(config.annotations),
        )

    def _own_container(self, config: cri.ContainerConfig) -> cri.ContainerConfig:
        return self.requests.container(
            self.image,
            config.metadata.name,
            attempt=config.metadata.attempt,
            command=WAITING,
            labels=dict(config.labels),
            annotations=dict(config.annotations),
        )


def _playable(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Give the calls that can be played: no streams, nothing that removes what is not this run's own."""
    made = {entry.response[name] for entry in entries for name in IDS if entry.response.get(name)}
    for entry in entries:
        known = rpcs().get(entry.rpc)
        if known is None or known.streams or entry.rpc in NOT_PLAYED or entry.rpc == "RemoveImage":
            continue
        named = {entry.request[name] for name in IDS if entry.request.get(name)}
        # what was there before the recording is another node's, and would be nobody's here
        if named <= made:
            yield entry
