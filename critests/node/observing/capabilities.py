"""Capabilities of the runtime and the machine, each probed once, with evidence.

A probe shares no code and no condition with the tests that it gates. A probe that needs a container runs at
first use, in its own sandbox. Only probes may parse a runtime's messages, and then the evidence notes it.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

import grpc

from critests.api import api_pb2 as cri
from critests.catalogue.rpcs import rpc_of
from critests.catalogue.words import Capability
from critests.client.connection import Connection
from critests.client.failures import CallNotAllowed, failed_rpc, in_words
from critests.record.run_record import CapabilityFact

NO_SUCH_ID = "critests-probe-of-an-id-that-nobody-has"
EVENTS_SECONDS = 1.0
ANSWER_SECONDS = 5.0
"""Timeout of calls whose only purpose is to find out whether the RPC exists."""
NO_ANSWER = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
"""Codes that say nothing about a feature: the daemon hangs or is gone."""

Probe = Callable[[], CapabilityFact]


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
        if probe is None:
            return fact(capability, None, "there is no probe for it", "")
        try:
            return probe()
        except CallNotAllowed as error:
            return fact(capability, None, str(error), "not probed")
        except grpc.RpcError as error:
            return CapabilityFact(
                name=capability.value,
                present=None,
                evidence=in_words(error),
                source=failed_rpc(error) or "probe",
                failed=True,
            )

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


# `present` is the fact, so its position is clear
def fact(capability: Capability, present: bool | None, evidence: str, source: str) -> CapabilityFact:  # noqa: FBT001 - see above
    """Return a fact; `present` is None if it could not be determined."""
    return CapabilityFact(name=capability.value, present=present, evidence=evidence, source=source)


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
            Capability.RECURSIVE_READ_ONLY_MOUNTS: lambda: self.handler_feature(
                Capability.RECURSIVE_READ_ONLY_MOUNTS, "recursive_read_only_mounts"
            ),
            Capability.USER_NAMESPACES: lambda: self.handler_feature(
                Capability.USER_NAMESPACES, "user_namespaces"
            ),
            Capability.USER_NAMESPACES_HOST_NETWORK: self.user_namespaces_host_network,
            Capability.MOUNT_OPTIONS: lambda: self.feature(Capability.MOUNT_OPTIONS, "mount_options"),
            Capability.SUPPLEMENTAL_GROUPS_POLICY: lambda: self.feature(
                Capability.SUPPLEMENTAL_GROUPS_POLICY, "supplemental_groups_policy"
            ),
            Capability.EVENTS: self.events,
            Capability.STREAMING_LISTS: self.streaming_lists,
            Capability.POD_STATS: self.pod_stats,
            Capability.METRICS: self.metrics,
            Capability.POD_RESOURCE_UPDATES: self.pod_resource_updates,
            Capability.CHECKPOINT: self.checkpoint,
            Capability.POD_CHECKPOINT: self.pod_checkpoint,
            Capability.POD_RESTORE: self.pod_restore,
        }

    @property
    def _seconds(self) -> float:
        return ANSWER_SECONDS * self.connection.deadlines.scale

    def _status(self) -> cri.StatusResponse:
        return self.connection.runtime.Status(cri.StatusRequest())

    def pod_network(self) -> CapabilityFact:
        """NetworkReady is true."""
        conditions = [
            condition for condition in self._status().status.conditions if condition.type == "NetworkReady"
        ]
        ready = any(condition.status for condition in conditions)
        words = (
            "; ".join(f"{condition.reason} {condition.message}".strip() for condition in conditions)
            or "no such condition"
        )
        return fact(
            Capability.POD_NETWORK,
            ready,
            "NetworkReady is true" if ready else f"NetworkReady is not true: {words}",
            "Status",
        )

    def runtime_config(self) -> CapabilityFact:
        """RuntimeConfig names a cgroup driver."""
        try:
            answer = self.connection.runtime.RuntimeConfig(cri.RuntimeConfigRequest())
        except grpc.RpcError as error:
            return _absent_if_unimplemented(Capability.RUNTIME_CONFIG, error, "RuntimeConfig")
        driver = cri.CgroupDriver.Name(answer.linux.cgroup_driver)
        return fact(
            Capability.RUNTIME_CONFIG, answer.HasField("linux"), f"cgroup driver {driver}", "RuntimeConfig"
        )

    def runtime_handlers(self) -> CapabilityFact:
        """Status lists handlers."""
        names = [handler.name or '""' for handler in self._status().runtime_handlers]
        return fact(
            Capability.RUNTIME_HANDLERS,
            bool(names),
            ", ".join(names) or "the list is empty",
            "Status.runtime_handlers",
        )

    def handler_feature(self, capability: Capability, feature: str) -> CapabilityFact:
        """A feature of the handler under test."""
        handlers = {handler.name: handler for handler in self._status().runtime_handlers}
        if self.handler not in handlers:
            return fact(
                capability,
                False,
                f"Status does not list the handler {self.handler!r}",
                "Status.runtime_handlers",
            )
        present = bool(getattr(handlers[self.handler].features, feature))
        return fact(capability, present, f"{feature} is {str(present).lower()}", "Status.runtime_handlers")

    def feature(self, capability: Capability, feature: str) -> CapabilityFact:
        """A feature of the runtime as a whole."""
        present = bool(getattr(self._status().features, feature))
        return fact(capability, present, f"{feature} is {str(present).lower()}", "Status.features")

    def user_namespaces_host_network(self) -> CapabilityFact:
        """The runtime says so, and that the handler under test has user namespaces."""
        capability = Capability.USER_NAMESPACES_HOST_NETWORK
        runtime_feature = self.feature(capability, "user_namespaces_host_network")
        return (
            self.handler_feature(capability, "user_namespaces")
            if runtime_feature.present
            else runtime_feature
        )

    def events(self) -> CapabilityFact:
        """The stream of events stays open; off means Unimplemented or an early end."""
        seconds = EVENTS_SECONDS * self.connection.deadlines.scale
        stream = self.connection.runtime.GetContainerEvents(cri.GetEventsRequest(), timeout=seconds)
        try:
            next(iter(stream))
        except StopIteration:
            return fact(Capability.EVENTS, False, "the stream ended at once", "GetContainerEvents")
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                return fact(
                    Capability.EVENTS, True, f"the stream stayed open for {seconds:g} s", "GetContainerEvents"
                )
            return _absent_if_unimplemented(Capability.EVENTS, error, "GetContainerEvents")
        return fact(Capability.EVENTS, True, "an event came", "GetContainerEvents")

    def streaming_lists(self) -> CapabilityFact:
        """StreamPodSandboxes is implemented."""
        stream = self.connection.runtime.StreamPodSandboxes(
            cri.StreamPodSandboxesRequest(), timeout=self._seconds
        )
        try:
            next(iter(stream), None)
        except grpc.RpcError as error:
            return _absent_if_unimplemented(Capability.STREAMING_LISTS, error, "StreamPodSandboxes")
        return fact(Capability.STREAMING_LISTS, True, "the stream answered", "StreamPodSandboxes")

    def pod_stats(self) -> CapabilityFact:
        """PodSandboxStats is implemented."""
        try:
            self.connection.runtime.PodSandboxStats(cri.PodSandboxStatsRequest(pod_sandbox_id=NO_SUCH_ID))
        except grpc.RpcError as error:
            return _present_unless_unimplemented(Capability.POD_STATS, error, "PodSandboxStats")
        return fact(Capability.POD_STATS, True, "it answers", "PodSandboxStats")

    def metrics(self) -> CapabilityFact:
        """ListMetricDescriptors returns descriptors."""
        try:
            answer = self.connection.runtime.ListMetricDescriptors(cri.ListMetricDescriptorsRequest())
        except grpc.RpcError as error:
            return _absent_if_unimplemented(Capability.METRICS, error, "ListMetricDescriptors")
        return fact(
            Capability.METRICS,
            bool(answer.descriptors),
            f"{len(answer.descriptors)} descriptors",
            "ListMetricDescriptors",
        )

    def pod_resource_updates(self) -> CapabilityFact:
        """UpdatePodSandboxResources is implemented."""
        try:
            self.connection.runtime.UpdatePodSandboxResources(
                cri.UpdatePodSandboxResourcesRequest(pod_sandbox_id=NO_SUCH_ID), timeout=self._seconds
            )
        except grpc.RpcError as error:
            return _present_unless_unimplemented(
                Capability.POD_RESOURCE_UPDATES, error, "UpdatePodSandboxResources"
            )
        return fact(Capability.POD_RESOURCE_UPDATES, True, "it answers", "UpdatePodSandboxResources")

    def checkpoint(self) -> CapabilityFact:
        """CheckpointContainer looks for the container; runtimes that have it switched off say so in words."""
        try:
            self.connection.runtime.CheckpointContainer(
                cri.CheckpointContainerRequest(container_id=NO_SUCH_ID), timeout=self._seconds
            )
        except grpc.RpcError as error:
            present = None if error.code() in NO_ANSWER else error.code() is grpc.StatusCode.NOT_FOUND
            return fact(
                Capability.CHECKPOINT,
                present,
                f"for an unknown id it says {_said(error)}",
                "CheckpointContainer",
            )
        return fact(
            Capability.CHECKPOINT,
            None,
            "it succeeded for an id that nobody has",
            "answer of CheckpointContainer",
        )

    def pod_checkpoint(self) -> CapabilityFact:
        """CheckpointPod is implemented."""
        try:
            self.connection.runtime.CheckpointPod(
                cri.CheckpointPodRequest(pod_sandbox_id=NO_SUCH_ID), timeout=self._seconds
            )
        except grpc.RpcError as error:
            return _present_unless_unimplemented(Capability.POD_CHECKPOINT, error, "CheckpointPod")
        return fact(Capability.POD_CHECKPOINT, True, "it answers", "CheckpointPod")

    def pod_restore(self) -> CapabilityFact:
        """RestorePod is implemented."""
        metadata = cri.PodSandboxMetadata(name="probe-restore", uid=NO_SUCH_ID, namespace="critests")
        request = cri.RestorePodRequest(
            checkpoint_path=f"/{NO_SUCH_ID}", config=cri.PodSandboxConfig(metadata=metadata)
        )
        try:
            self.connection.runtime.RestorePod(request, timeout=self._seconds)
        except grpc.RpcError as error:
            return _present_unless_unimplemented(Capability.POD_RESTORE, error, "RestorePod")
        return fact(Capability.POD_RESTORE, True, "it answers", "RestorePod")


def _absent_if_unimplemented(capability: Capability, error: grpc.RpcError, rpc: str) -> CapabilityFact:
    present = False if error.code() is grpc.StatusCode.UNIMPLEMENTED else None
    return fact(capability, present, _said(error), rpc)


def _present_unless_unimplemented(capability: Capability, error: grpc.RpcError, rpc: str) -> CapabilityFact:
    if error.code() is grpc.StatusCode.UNIMPLEMENTED:
        return fact(capability, False, _said(error), rpc)
    if error.code() in NO_ANSWER:
        return fact(capability, None, _said(error), rpc)
    return fact(capability, True, f"it looks for the id: {_said(error)}", rpc)


def _said(error: grpc.RpcError) -> str:
    return f"{error.code().name}: {(error.details() or '')[:300]}"
