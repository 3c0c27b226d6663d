"""NRI plugins that respond in unusual ways."""

from collections.abc import Iterator
from dataclasses import dataclass

from critests.api import nri_pb2 as nri
from critests.documents.document_fields import ESCAPE, Expected
from critests.documents.message_values import nonsense_for
from critests.fixtures.nri import limited
from critests.node.nri.nri_plugin import WITHOUT_VALIDATION

NAMES = ("", "a/b", f"../../{ESCAPE}", "a\0b", "a\nb", "x" * 5000, "50-critests", "ö", " ")
INDICES = ("", "1", "100", "aa", "-1", " 5", "5\0", "x" * 5000, "\u0665\u0660", "5.")
MASKS = (-1, 1, 1 << 20, 1 << 30, (1 << 31) - 1, -(1 << 31))


@dataclass(frozen=True)
class Registration:
    """How a plugin registers and responds until it is synchronized.

    Attributes:
        text: what is unusual.
        name, index: by which it registers.
        events: bit mask of the subscribed events.
        synchronized: its response to Synchronize; None for a sound one.
    """

    text: str
    name: str = "critests"
    index: str = "50"
    events: int = WITHOUT_VALIDATION
    synchronized: nri.SynchronizeResponse | None = None
    expected: Expected = Expected.EITHER

    def __str__(self) -> str:
        return self.text


def registrations() -> Iterator[Registration]:
    """Yield unusual registrations, subscriptions and responses to Synchronize."""
    for name in NAMES:
        yield Registration(f"the name {name[:20]!r}", name=name)
    for index in INDICES:
        yield Registration(f"the index {index[:20]!r}", index=index)
    for events in MASKS:
        yield Registration(f"the events {events}", events=events)
    more = nri.SynchronizeResponse(more=True)
    yield Registration("more objects are requested than there are", synchronized=more)
    yield Registration("many updates", synchronized=nri.SynchronizeResponse(update=[update("x")] * 10_000))
    for nonsense in nonsense_for(nri.SynchronizeResponse(update=[update("x")])):
        response = nri.SynchronizeResponse(update=[update("x")])
        nonsense.spoil(response)
        yield Registration(f"Synchronize: {nonsense}", synchronized=response)


def update(container_id: str) -> nri.ContainerUpdate:
    """Return the update of a container's shares of the CPU."""
    cpu = nri.LinuxCPU(shares=nri.OptionalUInt64(value=100))
    return limited(container_id, nri.LinuxResources(cpu=cpu))


def adjustment() -> nri.CreateContainerResponse:
    """Return an adjustment that is valid, with an entry in most of its lists."""
    return nri.CreateContainerResponse(
        adjust=nri.ContainerAdjustment(
            annotations={"critests.example/a": "b"},
            env=[nri.KeyValue(key="CRITESTS", value="1")],
            mounts=[
                nri.Mount(destination="/critests", type="tmpfs", source="tmpfs", options=["rw", "nosuid"])
            ],
            linux=nri.LinuxContainerAdjustment(
                devices=[nri.LinuxDevice(path="/dev/critests", type="c", major=1, minor=3)]
            ),
        )
    )
