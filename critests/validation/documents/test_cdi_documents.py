"""DOC: unusual values in every field of CDI specifications."""

import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.documents.cdi_specification import DEVICE, specification, specification_variants
from critests.documents.document_fields import Expected
from critests.documents.variants import Variant
from critests.node.host.file_reads import reads_of
from critests.testing import Capability, OwnRuntime, disruptive, documents, requirement, requires
from critests.validation.documents.containers_in_use import EXIT, run_to_exit
from critests.validation.documents.harmless_use import DocumentBreach, DocumentUser

pytestmark = [documents, disruptive, requires(Capability.CDI, Capability.SAME_HOST)]
KIND, OTHER_KIND = "critests.example/device", "critests.example/sound"
READ_SECONDS = 1.0
"""How long a runtime may take to read a new specification, before scaling; it usually takes milliseconds."""
PARTS = (
    "devices[0].containerEdits.deviceNodes",
    "devices[0].containerEdits.mounts",
    "devices[0].containerEdits.hooks",
    "devices[0].containerEdits",
    "",
)
"""Fields of a specification with those below them; the empty one stands for all others."""


@dataclass
class CdiDevices:
    """Runs containers with devices of unusual specifications, next to a sound one.

    Attributes:
        user: uses the documents.
        unusable: the documents next to which the device of the sound one could not be used.
    """

    user: DocumentUser
    unusable: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """The runtime's directory of specifications."""
        return self.user.runtime.daemon.cdi_folder

    def write(self, kind: str, content: bytes) -> Path:
        """Write a specification, and wait until it was read, if it is."""
        name = f"{kind.replace('/', '-')}-{secrets.token_hex(4)}"
        draft, target = self.folder / f"{name}.draft", self.folder / f"{name}.json"
        draft.write_bytes(content)
        with reads_of(draft) as was_read:
            draft.replace(target)
            was_read(READ_SECONDS * self.user.runtime.scale)
        return target

    def valid(self, kind: str) -> bytes:
        """Return a valid specification."""
        return json.dumps(specification(kind, "/dev/null", str(self.source))).encode()

    @property
    def source(self) -> Path:
        """A directory of the machine that the device mounts."""
        folder = self.user.runtime.daemon.state / "cdi-source"
        folder.mkdir(exist_ok=True)
        return folder

    def request(self, kind: str) -> cri.ContainerConfig:
        """Return the configuration of a container with the device of a kind."""
        config = self.user.runtime.containers.config(script=EXIT)
        config.CDI_devices.append(cri.CDIDevice(name=f"{kind}={DEVICE}"))
        return config

    def use(self, variant: Variant) -> None:
        """Run a container with the device of a specification, and create one with that of the sound one.

        Raises:
            grpc.RpcError: the runtime refuses the specification.
            AssertionError: the container does not run as it should.
        """
        file = self.write(KIND, variant.content)
        containers = self.user.runtime.containers
        try:
            try:
                containers.attempt(self.request(OTHER_KIND), self.user.timeout, in_sandbox=self.user.pod)
            except grpc.RpcError as error:
                self.unusable.append(f"{variant}: {error.details()}")
            run_to_exit(self.user, self.request(KIND))
        finally:
            # a daemon that it ended reads it again when it is started
            file.unlink()

    def breaches(self, part: str, *expected: Expected) -> list[DocumentBreach]:
        """Use the specifications of which CDI expects this, and return what went wrong."""
        variants = specification_variants(KIND, "/dev/null", str(self.source))
        return self.user.breaches(
            [each for each in variants if each.expected in expected and each.is_of(part, PARTS)], self.use
        )


@pytest.fixture(scope="module")
def devices(module_runtime: OwnRuntime) -> CdiDevices:
    """Devices of the module's runtime, among them a sound one."""
    devices = CdiDevices(DocumentUser(module_runtime))
    devices.write(OTHER_KIND, devices.valid(OTHER_KIND))
    return devices


@requirement("DOC-11/harmless")
@pytest.mark.parametrize("part", PARTS)
def test_an_unusual_cdi_specification_does_no_harm(devices: CdiDevices, part: str) -> None:
    """A CDI specification with an unusual value in any field MUST NOT end the daemon, escape to the node,
    leave anything there, affect the next pod, or make a device of another specification unusable.

    Source: CDI specification; ContainerConfig.CDI_devices.
    """
    devices.unusable.clear()

    assert devices.breaches(part, Expected.EITHER) == []
    assert devices.unusable == []


@requirement("DOC-11/meaning")
@pytest.mark.parametrize("part", PARTS)
def test_an_unusual_but_valid_cdi_specification_is_used(devices: CdiDevices, part: str) -> None:
    """A container with a device of a valid specification without optional fields MUST run, and a device that
    no specification describes MUST be rejected.

    Source: CDI specification, Error Handling; ContainerConfig.CDI_devices.
    """
    assert devices.breaches(part, Expected.ACCEPTED, Expected.REFUSED) == []
