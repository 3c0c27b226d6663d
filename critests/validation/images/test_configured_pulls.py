"""IMG: what a runtime's own configuration says of pulls: mirrors, patience, and registries without TLS."""

import base64
import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.fixtures.images import Images, Registry
from critests.fixtures.own_runtime import NEEDS_ITS_OWN, OwnRuntime, shaped
from critests.fixtures.runtime import Runtime
from critests.images.faults import Access, Fault, FaultKind, Scheme, Scope
from critests.images.repositories import MintedImage
from critests.lifecycle.requests import pulling
from critests.node.addresses import node_address
from critests.node.kinds.told import Credentials, Mirror, PullProgress
from critests.run.context import Shape
from critests.run.marks import disruptive, requirement, slow
from critests.run.outcomes import blocked

BELOW = "critests-mirror"
PATIENCE_SECONDS = 2
"""How long the runtime waits for the next bytes of a layer."""
STALLING = Fault(kind=FaultKind.STALL, scope=Scope.LAYER, seconds=120)
STEADY = Fault(kind=FaultKind.SLOW, scope=Scope.LAYER, bytes_per_second=16 << 10)
STEADY_SECONDS = 4 * PATIENCE_SECONDS
USERNAME, PASSWORD = "critests-node", "critests: of the node"
PROTECTED = Access(scheme=Scheme.BASIC, username=USERNAME, password=PASSWORD)
PULLS = 40
"""Whether a time-out of 0 comes before it is taken back is left to chance each time."""
RESTING = Fault(kind=FaultKind.DELAY, scope=Scope.LAYER, seconds=15)
FOR_ALL_OF_IT = Fault(kind=FaultKind.UNAVAILABLE)


@pytest.fixture
def mirroring_runtime(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[OwnRuntime]:
    """A runtime that looks for what the suite's registry has in a mirror first."""
    with shaped(request, runtime, Shape(told=(Mirror(BELOW),))) as own:
        yield own


@pytest.fixture
def trusted_runtime(
    request: pytest.FixtureRequest, runtime: Runtime, registry: Registry, host_folder: Path
) -> Iterator[OwnRuntime]:
    """A runtime whose node has credentials for the suite's registry, in a file."""
    file = host_folder / "credentials.json"
    secret = base64.b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode()
    file.write_text(json.dumps({"auths": {registry.client.address: {"auth": secret}}}), encoding="ascii")
    with shaped(request, runtime, Shape(told=(Credentials(file),))) as own:
        yield own


@pytest.fixture
def impatient_runtime(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[OwnRuntime]:
    """A runtime that gives up a pull of which nothing arrives for `PATIENCE_SECONDS`."""
    with shaped(request, runtime, Shape(told=(PullProgress(PATIENCE_SECONDS),))) as own:
        yield own


@pytest.fixture
def patient_runtime(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[OwnRuntime]:
    """A runtime that gives up no pull of which nothing arrives."""
    with shaped(request, runtime, Shape(told=(PullProgress(0),))) as own:
        yield own


@pytest.fixture
def _configured_by_us(runtime: Runtime) -> None:
    """Block a test that goes by what the configuration does not say where that is not the suite's."""
    if not runtime.context.throwaway:
        blocked(NEEDS_ITS_OWN)


def holds(runtime: Runtime, image: MintedImage) -> bool:
    """Say whether a runtime has an image."""
    request = cri.ImageStatusRequest(image=cri.ImageSpec(image=image.reference))
    return runtime.images.ImageStatus(request).HasField("image")


@requirement("IMG-33")
@disruptive
def test_a_mirror_is_asked_before_the_registry(mirroring_runtime: OwnRuntime, registry: Registry) -> None:
    """Where a mirror is configured that has the image, a pull SHOULD take it from there, and ask the registry
    itself for nothing.

    Source: not stated by the CRI; who configures a mirror wants the registry to be left alone.
    """
    minted = registry.mint()
    mirrored = registry.mirror(minted, BELOW)

    mirroring_runtime.images.PullImage(pulling(minted.reference))

    assert holds(mirroring_runtime, minted)
    assert 200 in {request.status for request in registry.requests(mirrored)}
    assert registry.requests(minted) == []


@requirement("IMG-33")
@disruptive
def test_a_registry_stands_in_for_its_mirror(mirroring_runtime: OwnRuntime, registry: Registry) -> None:
    """Where the mirror that is configured cannot give the image, a pull SHOULD take it from the registry.

    Source: not stated by the CRI; a mirror that is out of order would stop every pod otherwise.
    """
    minted = registry.mint()
    mirrored = registry.mirror(minted, BELOW)
    registry.fault(mirrored, FOR_ALL_OF_IT)

    mirroring_runtime.images.PullImage(pulling(minted.reference))

    assert holds(mirroring_runtime, minted)
    assert {request.fault for request in registry.requests(mirrored)} == {FOR_ALL_OF_IT.kind}
    assert 200 in {request.status for request in registry.requests(minted)}


@requirement("AUT-12")
@disruptive
@pytest.mark.usefixtures("authenticating_alone")
def test_credentials_of_the_node_are_those_of_a_pull_without(
    trusted_runtime: OwnRuntime, runtime: Runtime, registry: Registry
) -> None:
    """Where a file of the node has credentials for a registry, and the runtime is told of it, a pull that
    brings none MUST have them; a runtime that is not told MUST be refused the same image.

    Source: PullImageRequest.auth, which may be empty; what a node has of its own is not stated by the CRI.
    """
    minted = registry.mint()
    registry.set_access(minted, PROTECTED)

    trusted_runtime.images.PullImage(pulling(minted.reference))

    assert holds(trusted_runtime, minted)
    runtime.refusal(runtime.images.PullImage, pulling(minted.reference))


@slow
@requirement("IMG-29")
@disruptive
def test_a_pull_of_which_nothing_arrives_is_given_up(
    impatient_runtime: OwnRuntime, registry: Registry
) -> None:
    """Where a time-out for the progress of pulls is configured, a pull SHOULD fail once nothing has arrived
    for so long, and leave no image.

    Source: not stated by the CRI; the kubelet gives a pull no deadline that would end it.
    """
    minted = registry.mint("large", changes={"filler_bytes": 4 << 20, "filler_layers": 1})
    # the one below the top
    registry.fault(minted, replace(STALLING, reference=minted.layer_digests[-2]))

    impatient_runtime.refusal(impatient_runtime.images.PullImage, pulling(minted.reference), 60)

    assert not holds(impatient_runtime, minted)
    assert STALLING.kind in {request.fault for request in registry.requests(minted)}


@slow
@requirement("IMG-29")
@disruptive
def test_a_slow_pull_is_not_given_up(impatient_runtime: OwnRuntime, registry: Registry) -> None:
    """A pull that takes longer than the time-out for its progress, and of which something arrives all the
    time, SHOULD be brought to its end.

    Source: not stated by the CRI; large images come over slow lines.
    """
    size = STEADY.bytes_per_second * STEADY_SECONDS
    minted = registry.mint("large", changes={"filler_bytes": size, "filler_layers": 1})
    # the one below the top
    registry.fault(minted, replace(STEADY, reference=minted.layer_digests[-2]))

    call = impatient_runtime.timed(impatient_runtime.images.PullImage, pulling(minted.reference), 90)

    assert holds(impatient_runtime, minted)
    assert call.seconds > PATIENCE_SECONDS


@slow
@requirement("IMG-29")
@disruptive
def test_no_pull_is_given_up_without_a_time_out(patient_runtime: OwnRuntime, registry: Registry) -> None:
    """Where the time-out for the progress of pulls is 0, every pull SHOULD be brought to its end.

    Source: not stated by the CRI; in the configurations of runtimes 0 is no time-out.
    """
    for _ in range(PULLS):
        minted = registry.mint()
        patient_runtime.images.PullImage(pulling(minted.reference), timeout=20 * patient_runtime.scale)
        assert holds(patient_runtime, minted)


@slow
@requirement("IMG-41")
@pytest.mark.usefixtures("_configured_by_us")
def test_a_pull_that_rests_is_not_given_up(runtime: Runtime, registry: Registry) -> None:
    """A runtime whose configuration says nothing of the time that pulls may take SHOULD bring one to its end
    of which nothing arrives for 15 seconds.

    Source: not stated by the CRI; a registry that is busy is late by as much, and what has been pulled is
    lost with a pull that is given up.
    """
    minted = registry.mint()
    registry.fault(minted, RESTING)

    runtime.images.PullImage(pulling(minted.reference), timeout=60 * runtime.scale)

    assert holds(runtime, minted)
    assert RESTING.kind in {request.fault for request in registry.requests(minted)}


@dataclass
class PlainListener:
    """Somebody at an address of this node who answers nothing, and notes how he is spoken to.

    Attributes:
        address: `host:port`.
        heard: the first bytes of each connection.
    """

    address: str
    heard: list[bytes] = field(default_factory=list)

    def listen(self, server: socket.socket) -> None:
        """Take connections until the socket is closed."""
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                with connection, contextlib.suppress(OSError):
                    connection.settimeout(2)
                    self.heard.append(connection.recv(16))


@pytest.fixture
def unknown_registry() -> Iterator[PlainListener]:
    """A registry of which nobody has told the runtime that it speaks plain HTTP."""
    with socket.create_server((node_address(), 0)) as server:
        listener = PlainListener("{}:{}".format(*server.getsockname()))
        thread = threading.Thread(target=listener.listen, args=(server,), daemon=True)
        thread.start()
        yield listener
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@requirement("IMG-34")
def test_no_registry_is_asked_in_plain_http_unless_it_is_configured(
    runtime: Runtime, images: Images, unknown_registry: PlainListener
) -> None:
    """A registry that is not on loopback, and of which the configuration says nothing, SHOULD NOT be spoken
    to in plain HTTP: whoever is on the way could hand out an image of his own, and read the credentials.

    Source: not stated by the CRI.
    """
    if not runtime.context.throwaway:
        blocked(NEEDS_ITS_OWN)

    runtime.refusal(
        runtime.images.PullImage, images.pull_request(f"{unknown_registry.address}/critests/unknown:1"), 60
    )

    assert unknown_registry.heard != []
    assert [words for words in unknown_registry.heard if words.startswith((b"GET ", b"HEAD "))] == []
