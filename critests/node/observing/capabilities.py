"""Capabilities of the runtime and the machine, each probed once, with evidence.

A probe shares no code and no condition with the tests that it gates. A probe that needs a container runs at
first use, in its own sandbox. Only probes may parse a runtime's messages, and then the evidence notes it.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import grpc
from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.catalogue.rpcs import rpc_of
from critests.catalogue.words import Capability
from critests.client.connection import Connection
from critests.client.failures import CallNotAllowed, failed_rpc, in_words
from critests.record.run_record import CapabilityFact

NO_SUCH_ID = "critests-probe-of-an-id-that-nobody-has"
RESTORE_REQUEST = cri.RestorePodRequest(
    checkpoint_path=f"/{NO_SUCH_ID}",
    config=cri.PodSandboxConfig(
        metadata=cri.PodSandboxMetadata(name="probe-restore", uid=NO_SUCH_ID, namespace="critests")
    ),
)
EVENTS_SECONDS = 1.0
ANSWER_SECONDS = 5.0
"""Timeout of calls whose only purpose is to find out whether the RPC exists."""
NO_ANSWER = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
"""Codes that say nothing about a feature: the daemon hangs or is gone."""


@dataclass(frozen=True)
class ProbeResult:
    """What a probe found.

    Attributes:
        present: whether the capability is there; None if it could not be determined.
        evidence: what was observed.
        source: where: an RPC, a file, a flag.
        failed: it is unknown because the RPC in `source` failed.
    """

    present: bool | None
    evidence: str
    source: str
    failed: bool = False


Probe = Callable[[], ProbeResult]
PROBES_AGAIN = 3
"""How often a probe is repeated that failed with an error of an RPC."""


class CapabilityMatrix:
    """Facts by capability, probed at first use."""

    def __init__(self, probes: dict[Capability, Probe]) -> None:
        self._probes = probes
        self._facts: dict[Capability, CapabilityFact] = {}
        self._failed: dict[Capability, int] = {}
        self._lock = threading.RLock()

    def fact(self, capability: Capability) -> CapabilityFact:
        """Return the fact about a capability, probing it if necessary."""
        with self._lock:
            known = self._facts.get(capability)
            # a single failed call should not block all later tests
            if known is None or (known.present is None and rpc_of(known.source) and self._again(capability)):
                self._facts[capability] = self._probe(capability)
            return self._facts[capability]

    def _again(self, capability: Capability) -> bool:
        """Return whether to repeat a probe without a result."""
        self._failed[capability] = self._failed.get(capability, 0) + 1
        return self._failed[capability] <= PROBES_AGAIN

    def _probe(self, capability: Capability) -> CapabilityFact:
        probe = self._probes.get(capability)
        seen = _made(probe) if probe else ProbeResult(None, "there is no probe for it", "")
        return CapabilityFact(name=capability.value, **vars(seen))

    def has(self, capability: Capability) -> bool:
        """Whether a capability was found."""
        return self.fact(capability).present is True

    def take(self, facts: list[CapabilityFact]) -> None:
        """Add facts that another process probed."""
        with self._lock:
            self._facts.update({Capability(known.name): known for known in facts})

    def known(self) -> list[CapabilityFact]:
        """Return the facts that are known by now, in the order of the enumeration."""
        with self._lock:
            return [self._facts[capability] for capability in Capability if capability in self._facts]

    def probe_all(self, capabilities: tuple[Capability, ...] = tuple(Capability)) -> list[CapabilityFact]:
        """Probe capabilities that are not known yet, and return all facts."""
        for capability in capabilities:
            self.fact(capability)
        return self.known()


def _made(probe: Probe) -> ProbeResult:
    try:
        return probe()
    except CallNotAllowed as error:
        return ProbeResult(None, str(error), "not probed")
    except grpc.RpcError as error:
        return ProbeResult(None, in_words(error), failed_rpc(error) or "probe", failed=True)


QUICK = (
    Capability.POD_NETWORK,
    Capability.RUNTIME_CONFIG,
    Capability.RUNTIME_HANDLERS,
    Capability.RECURSIVE_READ_ONLY_MOUNTS,
    Capability.USER_NAMESPACES,
    Capability.USER_NAMESPACES_HOST_NETWORK,
    Capability.MOUNT_OPTIONS,
    Capability.SUPPLEMENTAL_GROUPS_POLICY,
    Capability.STREAMING_LISTS,
    Capability.POD_STATS,
    Capability.METRICS,
    Capability.CHECKPOINT,
    Capability.POD_CHECKPOINT,
    Capability.POD_RESTORE,
)
"""Probes with one or two calls and without a container; they run at the start of a run."""


@dataclass(frozen=True)
class RuntimeProbes:
    """Probes that only ask the runtime.

    Attributes:
        connection: to the runtime.
        handler: the runtime handler under test.
    """

    connection: Connection
    handler: str = ""

    def all(self) -> dict[Capability, Probe]:
        """Return the probes by capability."""
        return {
            Capability.POD_NETWORK: self.pod_network,
            Capability.RUNTIME_CONFIG: self.runtime_config,
            Capability.RUNTIME_HANDLERS: self.runtime_handlers,
            Capability.RECURSIVE_READ_ONLY_MOUNTS: partial(
                self.handler_feature, "recursive_read_only_mounts"
            ),
            Capability.USER_NAMESPACES: partial(self.handler_feature, "user_namespaces"),
            Capability.USER_NAMESPACES_HOST_NETWORK: self.user_namespaces_host_network,
            Capability.MOUNT_OPTIONS: partial(self.feature, "mount_options"),
            Capability.SUPPLEMENTAL_GROUPS_POLICY: partial(self.feature, "supplemental_groups_policy"),
            Capability.EVENTS: self.events,
            Capability.STREAMING_LISTS: self.streaming_lists,
            Capability.POD_STATS: partial(
                self.implemented, "PodSandboxStats", cri.PodSandboxStatsRequest(pod_sandbox_id=NO_SUCH_ID)
            ),
            Capability.METRICS: self.metrics,
            Capability.POD_RESOURCE_UPDATES: partial(
                self.implemented,
                "UpdatePodSandboxResources",
                cri.UpdatePodSandboxResourcesRequest(pod_sandbox_id=NO_SUCH_ID),
            ),
            Capability.CHECKPOINT: self.checkpoint,
            Capability.POD_CHECKPOINT: partial(
                self.implemented, "CheckpointPod", cri.CheckpointPodRequest(pod_sandbox_id=NO_SUCH_ID)
            ),
            Capability.POD_RESTORE: partial(self.implemented, "RestorePod", RESTORE_REQUEST),
        }

    @property
    def _seconds(self) -> float:
        return ANSWER_SECONDS * self.connection.deadlines.scale

    def _status(self) -> cri.StatusResponse:
        return self.connection.runtime.Status(cri.StatusRequest())

    def pod_network(self) -> ProbeResult:
        """NetworkReady is true."""
        conditions = [
            condition for condition in self._status().status.conditions if condition.type == "NetworkReady"
        ]
        ready = any(condition.status for condition in conditions)
        words = (
            "; ".join(f"{condition.reason} {condition.message}".strip() for condition in conditions)
            or "no such condition"
        )
        return ProbeResult(
            ready,
            "NetworkReady is true" if ready else f"NetworkReady is not true: {words}",
            "Status",
        )

    def runtime_config(self) -> ProbeResult:
        """RuntimeConfig names a cgroup driver."""
        try:
            answer = self.connection.runtime.RuntimeConfig(cri.RuntimeConfigRequest())
        except grpc.RpcError as error:
            return _absent_if_unimplemented(error, "RuntimeConfig")
        driver = cri.CgroupDriver.Name(answer.linux.cgroup_driver)
        return ProbeResult(answer.HasField("linux"), f"cgroup driver {driver}", "RuntimeConfig")

    def runtime_handlers(self) -> ProbeResult:
        """Status lists handlers."""
        names = [handler.name or '""' for handler in self._status().runtime_handlers]
        return ProbeResult(
            bool(names),
            ", ".join(names) or "the list is empty",
            "Status.runtime_handlers",
        )

    def handler_feature(self, feature: str) -> ProbeResult:
        """A feature of the handler under test."""
        handlers = {handler.name: handler for handler in self._status().runtime_handlers}
        if self.handler not in handlers:
            return ProbeResult(
                False,
                f"Status does not list the handler {self.handler!r}",
                "Status.runtime_handlers",
            )
        present = bool(getattr(handlers[self.handler].features, feature))
        return ProbeResult(present, f"{feature} is {str(present).lower()}", "Status.runtime_handlers")

    def feature(self, feature: str) -> ProbeResult:
        """A feature of the runtime as a whole."""
        present = bool(getattr(self._status().features, feature))
        return ProbeResult(present, f"{feature} is {str(present).lower()}", "Status.features")

    def user_namespaces_host_network(self) -> ProbeResult:
        """The runtime says so, and that the handler under test has user namespaces."""
        of_runtime = self.feature("user_namespaces_host_network")
        return self.handler_feature("user_namespaces") if of_runtime.present else of_runtime

    def events(self) -> ProbeResult:
        """The stream of events stays open; off means Unimplemented or an early end."""
        seconds = EVENTS_SECONDS * self.connection.deadlines.scale
        stream = self.connection.runtime.GetContainerEvents(cri.GetEventsRequest(), timeout=seconds)
        try:
            next(iter(stream))
        except StopIteration:
            return ProbeResult(False, "the stream ended at once", "GetContainerEvents")
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                return ProbeResult(True, f"the stream stayed open for {seconds:g} s", "GetContainerEvents")
            return _absent_if_unimplemented(error, "GetContainerEvents")
        return ProbeResult(True, "an event came", "GetContainerEvents")

    def streaming_lists(self) -> ProbeResult:
        """StreamPodSandboxes is implemented."""
        stream = self.connection.runtime.StreamPodSandboxes(
            cri.StreamPodSandboxesRequest(), timeout=self._seconds
        )
        try:
            next(iter(stream), None)
        except grpc.RpcError as error:
            return _absent_if_unimplemented(error, "StreamPodSandboxes")
        return ProbeResult(True, "the stream answered", "StreamPodSandboxes")

    def metrics(self) -> ProbeResult:
        """ListMetricDescriptors returns descriptors."""
        try:
            answer = self.connection.runtime.ListMetricDescriptors(cri.ListMetricDescriptorsRequest())
        except grpc.RpcError as error:
            return _absent_if_unimplemented(error, "ListMetricDescriptors")
        return ProbeResult(
            bool(answer.descriptors),
            f"{len(answer.descriptors)} descriptors",
            "ListMetricDescriptors",
        )

    def implemented(self, rpc: str, request: Message) -> ProbeResult:
        """An RPC is implemented: it looks for an id that nobody has."""
        try:
            getattr(self.connection.runtime, rpc)(request, timeout=self._seconds)
        except grpc.RpcError as error:
            code = error.code()
            if code is grpc.StatusCode.UNIMPLEMENTED or code in NO_ANSWER:
                return _absent_if_unimplemented(error, rpc)
            return ProbeResult(True, f"it looks for the id: {_said(error)}", rpc)
        return ProbeResult(True, "it answers", rpc)

    def checkpoint(self) -> ProbeResult:
        """CheckpointContainer looks for the container; runtimes that have it switched off say so in words."""
        try:
            self.connection.runtime.CheckpointContainer(
                cri.CheckpointContainerRequest(container_id=NO_SUCH_ID), timeout=self._seconds
            )
        except grpc.RpcError as error:
            present = None if error.code() in NO_ANSWER else error.code() is grpc.StatusCode.NOT_FOUND
            return ProbeResult(
                present,
                f"for an unknown id it says {_said(error)}",
                "CheckpointContainer",
            )
        return ProbeResult(
            None,
            "it succeeded for an id that nobody has",
            "answer of CheckpointContainer",
        )


def _absent_if_unimplemented(error: grpc.RpcError, rpc: str) -> ProbeResult:
    present = False if error.code() is grpc.StatusCode.UNIMPLEMENTED else None
    return ProbeResult(present, _said(error), rpc)


def _said(error: grpc.RpcError) -> str:
    return f"{error.code().name}: {(error.details() or '')[:300]}"
