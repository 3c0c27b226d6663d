"""A runtime whose CNI plugin prints what a test says, and whose network configuration a test replaces."""

import contextlib
import itertools
import json
from dataclasses import dataclass, field

import grpc

from critests.api import api_pb2 as cri
from critests.documents import cni_network, cni_result
from critests.documents.cni_conduct import ADD, DEL, VERSION, Conduct, PluginAnswer
from critests.documents.document_fields import Expected
from critests.documents.variants import Variant
from critests.node.host.file_reads import reads_of
from critests.node.network.answering_plugin import NAME, AnsweringPlugin
from critests.testing import ConditionNotMet, OwnRuntime, unsupported

READ_SECONDS = 1.0
"""How long a runtime may take to read a changed configuration, before scaling; it usually takes a few
milliseconds.
"""
RETURN_SECONDS = 20.0
"""How long a network may take to be ready again, before scaling: some runtimes look every five seconds."""
CALL_SECONDS = 15.0
"""Deadline of RunPodSandbox, before scaling: a runtime may wait for its network to be ready."""
_NUMBERS = itertools.count()


@dataclass
class AnsweredNetwork:
    """A network of one plugin, which answers as a test says.

    Attributes:
        runtime: of the module, with a directory of plugins of its own.
        version: of the CNI specification.
    """

    runtime: OwnRuntime
    version: str
    plugin: AnsweringPlugin = field(init=False)

    def __post_init__(self) -> None:
        good = json.dumps(cni_result.result(self.version)).encode()
        versions = json.dumps(cni_result.versions(self.version)).encode()
        sound = {ADD: PluginAnswer(good), DEL: PluginAnswer(), VERSION: PluginAnswer(versions)}
        self.plugin = AnsweringPlugin(self.runtime.cni.plugins, sound)

    def restore(self) -> None:
        """Configure the valid network, and wait until a pod is added to it.

        Raises:
            ConditionNotMet: the runtime does not use it.
        """
        network = cni_network.network_list(self.version, NAME)
        marker = f"valid {next(_NUMBERS)}"
        network["plugins"][0][cni_network.MARKER] = marker
        self._write(json.dumps(network).encode())
        self.runtime.eventually("the network to be ready", self.is_ready, RETURN_SECONDS)

        def used() -> bool:
            with contextlib.suppress(grpc.RpcError):
                self.runtime.sandboxes.attempt(self.runtime.sandboxes.config(), self.timeout).discard()
            return marker.encode() in self.plugin.added

        self.runtime.eventually("a pod to be added to the changed network", used, RETURN_SECONDS)

    def begin(self) -> None:
        """Configure the valid network; the test is unsupported if the runtime lacks its version."""
        try:
            self.restore()
        except ConditionNotMet as error:
            unsupported(f"the runtime has no CNI {self.version}: {error}")

    def is_ready(self) -> bool:
        """Return whether Status reports a ready network."""
        conditions = self.runtime.stub.Status(cri.StatusRequest()).status.conditions
        return all(condition.status for condition in conditions if condition.type == "NetworkReady")

    @property
    def timeout(self) -> float:
        """Deadline in seconds of RunPodSandbox."""
        return CALL_SECONDS * self.runtime.scale

    def conduct(self, conduct: Conduct) -> None:
        """Run a pod while the plugin does what is unusual, stop it, and let the plugin work again.

        Raises:
            grpc.RpcError: the pod was refused.
            AssertionError: it has another address than the plugin's valid result.
        """
        if VERSION not in conduct.answers:
            with self.plugin.answering(conduct.answers):
                self._run_pod(conduct.expected)
            return
        try:
            with self.plugin.answering(conduct.answers):
                # some runtimes ask for versions when they read a configuration
                self._write(json.dumps(cni_network.network_list(self.version, NAME)).encode())
                self._run_pod(conduct.expected)
        finally:
            self.restore()

    def configured(self, variant: Variant) -> None:
        """Run a pod on a network that is configured in an unusual way; see `conduct`."""
        try:
            self._write(variant.content)
            self._run_pod(variant.expected)
        finally:
            self.restore()

    def _run_pod(self, expected: Expected) -> None:
        if not self.is_ready():
            raise NetworkNotReady
        config = self.runtime.sandboxes.marked_config()
        addresses = cni_result.ADDRESS
        try:
            sandbox = self.runtime.sandboxes.attempt(config, self.timeout)
            # what a runtime reports of an invalid result is open
            if expected is Expected.ACCEPTED:
                addresses = sandbox.status().network.ip
        finally:
            known = {sandbox.id for sandbox in self.runtime.cleanup.sandboxes}
            for entry in self.runtime.sandboxes.created_from(config):
                if entry.id not in known:
                    self.runtime.sandboxes.adopt(entry.id, config)
                # the clean-up stops it again, when the plugin works
                with contextlib.suppress(grpc.RpcError):
                    self.runtime.stub.StopPodSandbox(
                        cri.StopPodSandboxRequest(pod_sandbox_id=entry.id), timeout=self.timeout
                    )
        assert addresses == cni_result.ADDRESS, f"the pod has the address {addresses!r}"

    def _write(self, content: bytes) -> None:
        """Replace the configuration, and wait until it was read, if it is."""
        target = self.runtime.conflist
        draft = target.with_suffix(".draft")
        draft.write_bytes(content)
        with reads_of(draft) as was_read:
            # some runtimes notice the removal of a name only
            draft.replace(target)
            was_read(READ_SECONDS * self.runtime.scale)


class NetworkNotReady(grpc.RpcError):
    """The runtime does not use a configuration: no pod can be created."""

    def code(self) -> grpc.StatusCode:
        """Return the code that RunPodSandbox would have."""
        return grpc.StatusCode.UNAVAILABLE

    def details(self) -> str:
        """Return the reason."""
        return "Status reports that the network is not ready"
