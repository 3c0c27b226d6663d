"""The named configurations of a private containerd."""

from typing import Final

from critests.runtimes.node_setting import NodeSetting
from critests.runtimes.runtime_settings import (
    ConfigurationValue,
    CopiedLayers,
    DeviceOwnership,
    DiscardLayers,
    DualStack,
    EarlierFormat,
    HandlerSnapshotter,
    ImageFolder,
    Ipv6First,
    Ipv6Only,
    LogLineSize,
    NriListener,
    ShortNames,
    StreamingTls,
)

IMAGES: Final = "io.containerd.cri.v1.images"
"""Plugin of the CRI's images, from 2.0 on."""
PODS: Final = "io.containerd.cri.v1.runtime"
"""Plugin of the CRI's pods and containers, from 2.0 on."""
TRANSFER: Final = "io.containerd.transfer.v1.local"
"""Plugin that pulls images, from 2.1 on."""
TRANSFER_PULLS_SINCE: Final = (2, 1, 0)
"""First version that pulls images with its transfer service unless it is configured not to."""
PARALLEL_UNPACKING_SINCE: Final = (2, 2, 0)
"""First version that can unpack several layers at a time."""
INTERNAL_LOOPBACK_SINCE: Final = (2, 0, 0)
"""First version that can set up the loopback interface without a plugin."""

_LOCAL_PULL = ConfigurationValue((IMAGES,), "use_local_image_pull", value=True, since=TRANSFER_PULLS_SINCE)
_UNPACKING = ConfigurationValue((TRANSFER,), "max_concurrent_unpacks", 4, PARALLEL_UNPACKING_SINCE)
_PARTS = tuple(
    ConfigurationValue((plugin,), "concurrent_layer_fetch_buffer", 32 << 10, TRANSFER_PULLS_SINCE)
    for plugin in (TRANSFER, IMAGES)
)
_LOOPBACK = ConfigurationValue(
    (PODS, "cni"), "use_internal_loopback", value=True, since=INTERNAL_LOOPBACK_SINCE
)

NODE_SETTINGS: Final = {
    "dual-stack": NodeSetting("pods have an IPv4 and an IPv6 address", (DualStack(),)),
    "ipv6-first": NodeSetting("of two addresses, the IPv6 address is the first", (DualStack(), Ipv6First())),
    "ipv6-only": NodeSetting("pods have only an IPv6 address", (Ipv6Only(),)),
    "internal-loopback": NodeSetting(
        "the loopback interface without a CNI plugin, from 2.0 on", (_LOOPBACK,)
    ),
    "nri": NodeSetting("an NRI plugin receives every event", (NriListener(),)),
    "no-overlay": NodeSetting("the snapshotter is native", (CopiedLayers(),)),
    "handler-snapshotter": NodeSetting("only the handlers' snapshotter is native", (HandlerSnapshotter(),)),
    "image-folder": NodeSetting("snapshots have a directory of their own", (ImageFolder(),)),
    "discard-layers": NodeSetting("layers are deleted after they were unpacked", (DiscardLayers(),)),
    "local-pull": NodeSetting("pulls without the transfer service, from 2.1 on", (_LOCAL_PULL,)),
    "parallel-unpacking": NodeSetting("unpacks 4 layers at a time, from 2.2 on", (_UNPACKING,)),
    "parallel-parts": NodeSetting("fetches a layer in parallel parts of 32 KiB, from 2.1 on", _PARTS),
    "earlier-format": NodeSetting(
        "version 2 of the format, registry.mirrors, from 2.0 on", (EarlierFormat(),)
    ),
    "short-log-lines": NodeSetting("splits log lines at 256 bytes", (LogLineSize(256),)),
    "device-ownership": NodeSetting("devices belong to the container's user", (DeviceOwnership(),)),
    "short-names": NodeSetting("images are named without their registry", (ShortNames(),)),
    "streaming-tls": NodeSetting("the streaming server speaks TLS", (StreamingTls(),)),
}
