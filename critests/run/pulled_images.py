"""The suite's images in the runtime: each is pulled once, for all tests that only use it."""

import contextlib
import dataclasses
import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from critests.client.connection import Connection
from critests.client.endpoint import EndpointError
from critests.client.failures import is_a_hang
from critests.images.catalogue import image_spec
from critests.images.registry_client import RegistryClient, repository_of
from critests.lifecycle.requests import ImageName, pulling
from critests.lifecycle.run_label import RUN_LABEL
from critests.node.run_state.locks import start_time
from critests.record.reasons import Reason, ReasonCode
from critests.run.context import RunContext
from critests.run.failure_text import of_rpc
from critests.run.outcomes import Blocked, SetUpFailed
from critests.runtimes.runtime_settings import ShortNames

PLAIN = "plain"


def on_mirror(prefix: str, name: str) -> str:
    """Return the reference of an image below a prefix of `--image-prefix`."""
    return f"{prefix.rstrip('/')}/{name}:{image_spec(name).tags[0]}"


@dataclass
class TestImages:
    """The images of the suite, by their names in the image catalogue.

    Attributes:
        connection: to the runtime.
        context: the run.
    """

    __test__ = False  # pytest would collect it by its name

    connection: Connection
    context: RunContext
    _pulled: dict[str, ImageName] = field(default_factory=dict)

    def pull(self, name: str = PLAIN) -> ImageName:
        """Return a pulled image, for tests that only use it; it is pulled once per worker and never removed
        by a test.
        """
        if name not in self._pulled:
            self._pulled[name] = self._pull(name)
        return self._pulled[name]

    def plain(self) -> ImageName | None:
        """Return the plain image; None if it cannot be pulled, which the tests of pulls report."""
        try:
            return self.pull()
        except (Blocked, SetUpFailed):
            return None

    def _pull(self, name: str) -> ImageName:
        prefix = self.context.settings.image_prefix
        registry = self.context.registry
        if prefix or registry is None:
            if not prefix:
                raise Blocked(why=Reason(code=ReasonCode.NO_IMAGES))
            written = on_mirror(prefix, name)
        else:
            minted = registry.mint(
                name,
                repository_of(self.context.run.id, name),
                tags=self.context.names.image_tags(),
                labels={RUN_LABEL: self.context.run.id},
            )
            written = minted.reference
            if ShortNames() in self.context.settings.of_node:
                written = written.removeprefix(f"{minted.registry}/")
        try:
            answer = self.connection.images.PullImage(pulling(written))
        except grpc.RpcError as error:
            if (
                registry is not None
                and not prefix
                and error.code() is not grpc.StatusCode.UNIMPLEMENTED
                and not registry.requests(repository_of(self.context.run.id, name))
                and not (is_a_hang(error) and self._shares_our_loopback(registry))
                and self._runtime_is_alive()
            ):
                why = dataclasses.replace(
                    of_rpc(error), code=ReasonCode.REGISTRY_UNREACHABLE, where=registry.address
                )
                raise Blocked(why=why) from error
            raise SetUpFailed(dataclasses.replace(of_rpc(error), where=written)) from error
        return ImageName(answer.image_ref, written)

    def _runtime_is_alive(self) -> bool:
        """Return whether the daemon is still the same process and responds; otherwise its end is why the pull
        failed.
        """
        pid = self.context.daemon_pid
        if pid is not None and start_time(pid) is None:
            return False
        try:
            self.connection.greet()
        except EndpointError:
            return False
        return True

    def _shares_our_loopback(self, registry: RegistryClient) -> bool:
        """Return whether the daemon and the registry share the loopback interface. Then no firewall or proxy
        can drop a request, and a pull that hangs before its first request is the runtime's fault.
        """
        host = registry.address.rpartition(":")[0].strip("[]")
        with contextlib.suppress(OSError, ValueError):
            theirs = Path(f"/proc/{self.context.daemon_pid}/ns/net")
            return ipaddress.ip_address(host).is_loopback and theirs.samefile("/proc/self/ns/net")
        return False
