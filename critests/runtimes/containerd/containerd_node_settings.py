"""The named configurations of a private containerd."""

from typing import Final

from critests.runtimes.node_setting import NodeSetting
from critests.runtimes.runtime_settings import (
    CopiedLayers,
    DeviceOwnership,
    DiscardLayers,
    DualStack,
    ImageFolder,
    Ipv6First,
    Ipv6Only,
    LocalPull,
    LogLineSize,
    NriListener,
    ParallelUnpacking,
)

NODE_SETTINGS: Final = {
    "dual-stack": NodeSetting("pods have an IPv4 and an IPv6 address", (DualStack(),)),
    "ipv6-first": NodeSetting("of two addresses, the IPv6 address is the first", (DualStack(), Ipv6First())),
    "ipv6-only": NodeSetting("pods have only an IPv6 address", (Ipv6Only(),)),
    "nri": NodeSetting("an NRI plugin receives every event", (NriListener(),)),
    "no-overlay": NodeSetting("the snapshotter is native", (CopiedLayers(),)),
    "image-folder": NodeSetting("snapshots have a directory of their own", (ImageFolder(),)),
    "discard-layers": NodeSetting("layers are deleted after they were unpacked", (DiscardLayers(),)),
    "local-pull": NodeSetting("pulls without the transfer service, from 2.1 on", (LocalPull(),)),
    "parallel-unpacking": NodeSetting("unpacks 4 layers at a time, from 2.2 on", (ParallelUnpacking(4),)),
    "short-log-lines": NodeSetting("splits log lines at 256 bytes", (LogLineSize(256),)),
    "device-ownership": NodeSetting("devices belong to the container's user", (DeviceOwnership(),)),
}
