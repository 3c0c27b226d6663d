"""IMG: settings of a runtime for pulls: mirrors, time-outs, and registries without TLS."""

import base64
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    NEEDS_ITS_OWN,
    Access,
    Credentials,
    FaultKind,
    Images,
    MintedImage,
    Mirror,
    OwnRuntime,
    PullProgress,
    Registry,
    RegistryFault,
    Runtime,
    RuntimeSetup,
    Scheme,
    Scope,
    blocked,
    configured,
    disruptive,
    node_address,
    pulling,
    requirement,
    slow,
    start_configured,
)

MIRROR_PATH = "critests-mirror"
PROGRESS_SECONDS = 2
"""The configured time-out: a pull fails if no bytes of a layer arrive for so long."""
UNPACK_PROGRESS_SECONDS = 1
"""The configured time-out for a layer that is downloaded at once, and takes longer to unpack."""
UNPACKED_BYTES = 512 << 20
"""Zeros, of which the registry sends half a megabyte; to unpack and write them takes seconds."""
STALLING = RegistryFault(kind=FaultKind.STALL, scope=Scope.LAYER, seconds=120)
"""Longer than the deadline of the call, so that only the runtime's time-out can end the pull in time."""
STEADY = RegistryFault(kind=FaultKind.SLOW, scope=Scope.LAYER, bytes_per_second=16 << 10)
STEADY_SECONDS = 4 * PROGRESS_SECONDS
"""How long a slow pull takes: several times the time-out, with bytes arriving all the time."""
USERNAME, PASSWORD = "critests-node", "critests: of the node"
PROTECTED = Access(scheme=Scheme.BASIC, username=USERNAME, password=PASSWORD)
PULLS = 40
"""The defect is a race, which some pulls lose: a time-out of 0 that fires before it is cancelled."""
# longer than 10 s, after which a runtime has cancelled pulls by default
PAUSING = RegistryFault(kind=FaultKind.DELAY, scope=Scope.LAYER, seconds=15)
EVERY_REQUEST = RegistryFault(kind=FaultKind.UNAVAILABLE)


@pytest.fixture
def runtime_with_credentials(
    request: pytest.FixtureRequest, runtime: Runtime, registry: Registry, host_folder: Path
) -> Iterator[OwnRuntime]:
    """A runtime with a credentials file for the suite's registry."""
    file = host_folder / "credentials.json"
    secret = base64.b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode()
    # the format of Docker's config.json, which runtimes read
    file.write_text(json.dumps({"auths": {registry.client.address: {"auth": secret}}}), encoding="ascii")
    with start_configured(request, runtime, RuntimeSetup(settings=(Credentials(file),))) as own:
        yield own


@pytest.fixture
def _default_configuration(runtime: Runtime) -> None:
    """Block a test of a runtime's defaults unless the suite wrote the configuration."""
    if not runtime.context.throwaway:
        blocked(NEEDS_ITS_OWN)


def has_image(runtime: Runtime, image: MintedImage) -> bool:
    """Return whether a runtime has an image."""
    request = cri.ImageStatusRequest(image=cri.ImageSpec(image=image.reference))
    return runtime.images.ImageStatus(request).HasField("image")


@requirement("IMG-33")
@disruptive
@configured(Mirror(MIRROR_PATH))
def test_a_mirror_is_used_before_the_registry(own_runtime: OwnRuntime, registry: Registry) -> None:
    """PullImage SHOULD take an image from a configured mirror that has it, and send no request to the
    registry.

    Source: not stated by the CRI; a mirror is configured to take load off the registry.
    """
    minted = registry.mint()
    mirrored = registry.mirror(minted, MIRROR_PATH)

    own_runtime.images.PullImage(pulling(minted.reference))

    assert has_image(own_runtime, minted)
    assert 200 in {request.status for request in registry.requests(mirrored)}
    assert registry.requests(minted) == []


@requirement("IMG-33")
@disruptive
@configured(Mirror(MIRROR_PATH))
def test_a_registry_is_used_if_its_mirror_fails(own_runtime: OwnRuntime, registry: Registry) -> None:
    """PullImage SHOULD take an image from the registry if the configured mirror cannot deliver it.

    Source: not stated by the CRI; otherwise no pod starts while a mirror is out of order.
    """
    minted = registry.mint()
    mirrored = registry.mirror(minted, MIRROR_PATH)
    registry.fault(mirrored, EVERY_REQUEST)

    own_runtime.images.PullImage(pulling(minted.reference))

    assert has_image(own_runtime, minted)
    # the runtime has tried the mirror
    assert {request.fault for request in registry.requests(mirrored)} == {EVERY_REQUEST.kind}
    assert 200 in {request.status for request in registry.requests(minted)}


@requirement("AUT-12")
@disruptive
@pytest.mark.usefixtures("authenticating_alone")
def test_a_pull_without_credentials_uses_those_of_the_node(
    runtime_with_credentials: OwnRuntime, runtime: Runtime, registry: Registry
) -> None:
    """PullImage without credentials MUST use those of a configured credentials file of the node; a runtime
    without this configuration MUST fail to pull the same image.

    Source: PullImageRequest.auth, which may be empty; the CRI does not define credentials of the node.
    """
    minted = registry.mint()
    registry.set_access(minted, PROTECTED)

    runtime_with_credentials.images.PullImage(pulling(minted.reference))

    assert has_image(runtime_with_credentials, minted)
    runtime.refusal(runtime.images.PullImage, pulling(minted.reference))


@slow
@requirement("IMG-29")
@disruptive
@configured(PullProgress(PROGRESS_SECONDS))
def test_a_pull_without_progress_is_cancelled(own_runtime: OwnRuntime, registry: Registry) -> None:
    """PullImage SHOULD fail and leave no image if no data arrives during the configured time-out for the
    progress of pulls.

    Source: not stated by the CRI; the kubelet sets no deadline for a pull.
    """
    minted = registry.mint("large", changes={"filler_bytes": 4 << 20, "filler_layers": 1})
    # the layer with the filler; the top one is small
    registry.fault(minted, replace(STALLING, reference=minted.layer_digests[-2]))

    own_runtime.refusal(own_runtime.images.PullImage, pulling(minted.reference), 60)

    assert not has_image(own_runtime, minted)
    assert STALLING.kind in {request.fault for request in registry.requests(minted)}


@slow
@requirement("IMG-29")
@disruptive
@configured(PullProgress(PROGRESS_SECONDS))
@pytest.mark.parametrize("pulls", [1, 2], ids=["one", "two at once"])
def test_a_slow_pull_is_not_cancelled(own_runtime: OwnRuntime, registry: Registry, pulls: int) -> None:
    """PullImage SHOULD succeed if it takes longer than the time-out for the progress of pulls, but bytes
    arrive all the time, also if it waits for another pull of the same image.

    Source: not stated by the CRI; large images are pulled over slow networks.
    """
    # filler is stored without compression, so the layer has this size
    size = STEADY.bytes_per_second * STEADY_SECONDS
    minted = registry.mint("large", changes={"filler_bytes": size, "filler_layers": 1})
    # the layer with the filler; the top one is small
    registry.fault(minted, replace(STEADY, reference=minted.layer_digests[-2]))

    began = time.monotonic()

    calls = [own_runtime.images.PullImage.future(pulling(minted.reference), 90) for _ in range(pulls)]

    assert len({call.result().image_ref for call in calls}) == 1
    assert has_image(own_runtime, minted)
    assert time.monotonic() - began > PROGRESS_SECONDS


@slow
@requirement("IMG-29")
@disruptive
@configured(PullProgress(UNPACK_PROGRESS_SECONDS))
def test_a_pull_is_not_cancelled_while_it_unpacks(own_runtime: OwnRuntime, registry: Registry) -> None:
    """PullImage SHOULD succeed if all bytes have arrived in time, and unpacking takes longer than the
    time-out for the progress of pulls.

    Source: not stated by the CRI; the time-out is for registries that stop sending.
    """
    minted = registry.mint(changes={"hollow_bytes": UNPACKED_BYTES})
    began = time.monotonic()

    own_runtime.images.PullImage(pulling(minted.reference), timeout=60 * own_runtime.scale)

    assert has_image(own_runtime, minted)
    # a runtime may look for progress at intervals as long as the time-out
    if time.monotonic() - began < 2 * UNPACK_PROGRESS_SECONDS:
        blocked("the node unpacked the layer within the time-out for the progress of pulls")


@slow
@requirement("IMG-29")
@disruptive
@configured(PullProgress(0))
def test_no_pull_is_cancelled_without_a_timeout(own_runtime: OwnRuntime, registry: Registry) -> None:
    """PullImage SHOULD succeed if the time-out for the progress of pulls is 0.

    Source: not stated by the CRI; in the configurations of runtimes, 0 means no time-out.
    """
    for _ in range(PULLS):
        minted = registry.mint()
        own_runtime.images.PullImage(pulling(minted.reference), timeout=20 * own_runtime.scale)
        assert has_image(own_runtime, minted)


@slow
@requirement("IMG-41")
@pytest.mark.usefixtures("_default_configuration")
def test_a_pull_that_pauses_is_not_cancelled(runtime: Runtime, registry: Registry) -> None:
    """PullImage SHOULD succeed with a runtime's default configuration if the registry begins to send a layer
    only after 15 s.

    Source: not stated by the CRI; a busy registry is as slow, and a cancelled pull loses what it has
    downloaded.
    """
    minted = registry.mint()
    registry.fault(minted, PAUSING)

    runtime.images.PullImage(pulling(minted.reference), timeout=60 * runtime.scale)

    assert has_image(runtime, minted)
    assert PAUSING.kind in {request.fault for request in registry.requests(minted)}


@dataclass
class PlainListener:
    """A TCP server on an address of this node that accepts, never responds and records what clients send.

    Attributes:
        address: `host:port`.
        received: the first bytes of each connection.
    """

    address: str
    received: list[bytes] = field(default_factory=list)

    def listen(self, server: socket.socket) -> None:
        """Accept connections until the socket is closed."""
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                with connection, contextlib.suppress(OSError):
                    # a client that waits for the server's first bytes sends nothing
                    connection.settimeout(2)
                    # 16 bytes distinguish the method of an HTTP request from a TLS handshake
                    self.received.append(connection.recv(16))


@pytest.fixture
def unknown_registry() -> Iterator[PlainListener]:
    """A registry that no configuration of the runtime mentions."""
    # not on loopback, where runtimes may use plain HTTP without configuration
    with socket.create_server((node_address(), 0)) as server:
        listener = PlainListener("{}:{}".format(*server.getsockname()))
        thread = threading.Thread(target=listener.listen, args=(server,), daemon=True)
        thread.start()
        yield listener
        # ends the `accept` of the thread, which a close alone would not
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@requirement("IMG-34")
def test_plain_http_is_not_used_unless_it_is_configured(
    runtime: Runtime, images: Images, unknown_registry: PlainListener
) -> None:
    """PullImage SHOULD NOT use plain HTTP for a registry that is neither on loopback nor configured for it:
    anybody on the path could replace the image and read the credentials.

    Source: not stated by the CRI.
    """
    # the configuration of another runtime may permit plain HTTP
    if not runtime.context.throwaway:
        blocked(NEEDS_ITS_OWN)

    runtime.refusal(
        runtime.images.PullImage, images.pull_request(f"{unknown_registry.address}/critests/unknown:1"), 60
    )

    assert unknown_registry.received != []
    assert [sent for sent in unknown_registry.received if sent.startswith((b"GET ", b"HEAD "))] == []
