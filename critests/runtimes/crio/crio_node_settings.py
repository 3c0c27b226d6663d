"""The named configurations of a private CRI-O."""

from typing import Final

from critests.runtimes.node_setting import NodeSetting
from critests.runtimes.runtime_settings import (
    CopiedLayers,
    DeviceOwnership,
    DualStack,
    ImageFolder,
    Ipv6Only,
    NoEvents,
    NriListener,
)

NODE_SETTINGS: Final = {
    "dual-stack": NodeSetting("pods have an IPv4 and an IPv6 address", (DualStack(),)),
    "ipv6-only": NodeSetting("pods have only an IPv6 address", (Ipv6Only(),)),
    "nri": NodeSetting("an NRI plugin receives every event", (NriListener(),)),
    "no-overlay": NodeSetting("the storage driver is vfs", (CopiedLayers(),)),
    "image-folder": NodeSetting("images are stored apart from containers (imagestore)", (ImageFolder(),)),
    "no-events": NodeSetting("container events are off", (NoEvents(),)),
    "device-ownership": NodeSetting("devices belong to the container's user", (DeviceOwnership(),)),
}
