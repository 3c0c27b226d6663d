"""DOC: unusual messages of NRI plugins: adjustments, updates, registrations, responses to Synchronize."""

import contextlib
import socket
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from critests.api import nri_pb2 as nri
from critests.documents.message_values import Nonsense, nonsense_for
from critests.lifecycle.container import Container
from critests.node.nri.nri_plugin import NriPlugin, PluginEvent, PluginNotConnected
from critests.node.nri.ttrpc import TtrpcError
from critests.testing import OwnRuntime, PluginFactory, disruptive, documents, requirement
from critests.validation.documents.containers_in_use import EXIT, run_to_exit
from critests.validation.documents.harmless_use import DocumentUser
from critests.validation.documents.odd_plugins import (
    Registration,
    adjustment,
    registrations,
    update,
)

pytestmark = [documents, disruptive]
CONNECTED_SECONDS = 5.0
"""How long configuration and synchronization of a plugin may take, before scaling."""


@dataclass
class OddPlugins:
    """Connects plugins that send unusual messages.

    Attributes:
        user: uses the messages.
        plugins: connects the plugin whose hooks send them.
    """

    user: DocumentUser
    plugins: PluginFactory

    @property
    def plugin(self) -> NriPlugin:
        """The connected plugin; a new one after the runtime closed its connection."""
        if self.plugins.opened[-1].ended:
            self.plugins.attempt()
        return self.plugins.opened[-1]

    def run(self) -> Container:
        """Run a container until it exits."""
        return run_to_exit(self.user, self.user.runtime.containers.config(script=EXIT))

    def adjust(self, nonsense: Nonsense) -> None:
        """Run a container with an unusual adjustment.

        Raises:
            grpc.RpcError: the runtime refuses it.
            AssertionError: the container does not run as it should.
        """
        response = adjustment()
        nonsense.spoil(response)

        def hook(_: PluginEvent) -> nri.CreateContainerResponse:
            return response

        with self.plugin.hooked("CreateContainer", hook):
            self.run()

    def update(self, nonsense: Nonsense) -> None:
        """Request an unusual update of a container that waits for its start."""
        runtime = self.user.runtime
        container = runtime.containers.attempt(
            runtime.containers.config(), self.user.timeout, in_sandbox=self.user.pod
        )
        request = nri.UpdateContainersRequest(update=[update(container.id)])
        nonsense.spoil(request)
        with contextlib.suppress(TtrpcError, PluginNotConnected):
            self.plugin.update(request)

    def register(self, registration: Registration) -> None:
        """Connect a plugin in an unusual way, run a container, and close the plugin."""
        runtime = self.user.runtime
        trunk = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        trunk.connect(str(runtime.daemon.nri_socket))
        plugin = NriPlugin(
            trunk,
            registration.name,
            registration.index,
            registration.events,
            runtime.scale,
            hooks={"Synchronize": lambda _: registration.synchronized},
        )
        try:
            with contextlib.suppress(TtrpcError, PluginNotConnected):
                plugin.register()
                plugin.is_synchronized(CONNECTED_SECONDS * runtime.scale)
            self.run()
        finally:
            plugin.close()


@pytest.fixture(scope="module")
def odd_plugins(nri_module_runtime: OwnRuntime) -> Iterator[OddPlugins]:
    """Plugins of the module's runtime; blocks the tests if it does not call a usual one."""
    plugins = PluginFactory(nri_module_runtime)
    plugins.connect()
    nri_module_runtime.cleanup.discard()
    yield OddPlugins(DocumentUser(nri_module_runtime), plugins)
    plugins.close()


@requirement("DOC-14")
@pytest.mark.parametrize("part", ["linux", "others"])
def test_an_unusual_adjustment_does_no_harm(odd_plugins: OddPlugins, part: str) -> None:
    """An adjustment of an NRI plugin with an invalid value in any field MUST NOT end the daemon, escape to
    the node, leave anything there, or affect the next pod.

    Source: NRI, CreateContainerResponse, which leaves open how a runtime reports invalid adjustments.
    """
    messages = [
        each
        for each in nonsense_for(adjustment())
        if each.field.startswith("adjust.linux") == (part == "linux")
    ]

    assert odd_plugins.user.breaches(messages, odd_plugins.adjust) == []


@requirement("DOC-14")
def test_an_unusual_update_does_no_harm(odd_plugins: OddPlugins) -> None:
    """An unsolicited update of an NRI plugin with an invalid value in any field MUST NOT end the daemon,
    leave anything on the node, or affect the next pod.

    Source: NRI, UpdateContainersRequest.
    """
    messages = nonsense_for(nri.UpdateContainersRequest(update=[update("x")]))

    assert odd_plugins.user.breaches(messages, odd_plugins.update) == []


@requirement("DOC-14")
def test_an_unusual_registration_does_no_harm(odd_plugins: OddPlugins) -> None:
    """An NRI plugin that registers, subscribes or responds to Synchronize with invalid values MUST NOT end
    the daemon, leave anything on the node, or affect the next pod.

    Source: NRI, RegisterPluginRequest, ConfigureResponse, SynchronizeResponse.
    """
    assert odd_plugins.user.breaches(registrations(), odd_plugins.register) == []
