"""The named configurations of a private CRI-O."""

from typing import Final

from critests.runtimes.node_setting import NodeSetting
from critests.runtimes.runtime_settings import (
    ConfigurationValue,
    CopiedLayers,
    DeviceOwnership,
    DualStack,
    ImageFolder,
    InfraContainers,
    Ipv6Only,
    NoEvents,
    NriListener,
    ShortNames,
    StreamingTls,
)

_COLLECTED = ConfigurationValue(("crio.stats",), "collection_period", 1)
_METRICS = ConfigurationValue(("crio.stats",), "included_pod_metrics", ("all",))

NODE_SETTINGS: Final = {
    "infra-containers": NodeSetting("every pod has an infra container", (InfraContainers(),)),
    "collected-stats": NodeSetting("statistics and metrics are collected once a second", (_COLLECTED,)),
    "all-metrics": NodeSetting("metrics of pods: all, by that word", (_METRICS,)),
    "dual-stack": NodeSetting("pods have an IPv4 and an IPv6 address", (DualStack(),)),
    "ipv6-only": NodeSetting("pods have only an IPv6 address", (Ipv6Only(),)),
    "nri": NodeSetting("an NRI plugin receives every event", (NriListener(),)),
    "no-overlay": NodeSetting("the storage driver is vfs", (CopiedLayers(),)),
    "image-folder": NodeSetting("images are stored apart from containers (imagestore)", (ImageFolder(),)),
    "no-events": NodeSetting("container events are off", (NoEvents(),)),
    "device-ownership": NodeSetting("devices belong to the container's user", (DeviceOwnership(),)),
    "short-names": NodeSetting("images are named without their registry", (ShortNames(),)),
    "streaming-tls": NodeSetting("the streaming server speaks TLS", (StreamingTls(),)),
}
