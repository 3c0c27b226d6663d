"""Settings of a private runtime: a class each, off unless requested.

A kind knows how to write each in its configuration; it raises `SettingNotSupported` for one that it lacks.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from critests.exit_codes import CannotTest

IMAGE_FOLDER = "images"
"""Name of the directory of images below the runtime's root directory, if one is configured."""


class SettingNotSupported(CannotTest):
    """This kind or version of runtime has no equivalent of a setting."""

    def __init__(self, setting: "RuntimeSetting", why: str = "") -> None:
        super().__init__(why or f"its configuration has no equivalent of: {setting.meaning}")


@dataclass(frozen=True)
class DeviceOwnership:
    """Device nodes belong to the user of their container."""

    meaning = "devices belong to the user of their container"


@dataclass(frozen=True)
class NoHostDevices:
    """Privileged containers of the default handler do not get the devices of the host."""

    meaning = "privileged containers get no devices of the host"


@dataclass(frozen=True)
class NoEvents:
    """Container events are off."""

    meaning = "there are no events of containers"


@dataclass(frozen=True)
class LogCap:
    """The runtime limits the size of container logs.

    Attributes:
        size: in bytes.
    """

    size: int
    meaning = "logs of containers are cut at a size"


@dataclass(frozen=True)
class PullProgress:
    """The runtime cancels pulls without progress.

    Attributes:
        seconds: the timeout; 0 for none.
    """

    seconds: int
    meaning = "pulls of which nothing arrives are given up after a time"


@dataclass(frozen=True)
class Mirror:
    """Every registry has a mirror, which is tried first.

    Attributes:
        path: of the mirror's repositories in the same registry: the mirror of `name` is `path/name`.
    """

    path: str
    meaning = "a registry has a mirror"


@dataclass(frozen=True)
class ShortNames:
    """Images whose names have no registry come from the suite's registry."""

    meaning = "images may be named without their registry"


@dataclass(frozen=True)
class StreamingTls:
    """The streaming server speaks TLS.

    Attributes:
        certificate: a file in PEM, absolute or relative to the runtime's state directory; made at the start
            if it does not exist.
        key: of the certificate, found in the same way.
    """

    certificate: Path = Path("streaming.pem")
    key: Path = Path("streaming-key.pem")
    meaning = "the streaming server speaks TLS"


@dataclass(frozen=True)
class CniTemplate:
    """A template instead of a CNI configuration, filled in with the pod CIDR of UpdateRuntimeConfig; the
    network is not ready before.
    """

    meaning = "the CNI configuration is made from a template and the pod CIDR"


@dataclass(frozen=True)
class NriPlugins:
    """NRI plugins may connect."""

    meaning = "plugins of the Node Resource Interface may be connected"


@dataclass(frozen=True)
class Credentials:
    """Pulls without credentials use those in a file of the node.

    Attributes:
        file: with an entry per registry in `auths`.
    """

    file: Path
    meaning = "a file of the node has credentials for registries"


@dataclass(frozen=True)
class ProfilesFromRegistries:
    """A pod annotation may name a seccomp profile that is an artifact in a registry."""

    meaning = "seccomp profiles may come from a registry"


@dataclass(frozen=True)
class SplitStorage:
    """Images and the writable layers of containers are stored in different places."""

    meaning = "images are stored apart from containers"


@dataclass(frozen=True)
class ImageFolder:
    """Images are stored in their own directory, `IMAGE_FOLDER` below the runtime's root directory."""

    meaning = "images are stored in a directory that is named"


@dataclass(frozen=True)
class PinnedImages:
    """Images with a name prefix are pinned.

    Attributes:
        prefix: of the full name.
    """

    prefix: str
    meaning = "images are pinned by their names"


@dataclass(frozen=True)
class SignaturePolicy:
    """Images of a name are accepted only with a signature.

    Attributes:
        images: name of the images, without tag, or a part of it before a slash.
        namespace: of the pods for which that holds; empty for all.
        key: file of the public key (PEM) whose sigstore signatures are accepted; without one, none is.
    """

    images: str
    namespace: str = ""
    key: Path | None = None
    meaning = "a policy requires signatures of images"


@dataclass(frozen=True)
class MetricsOfCpu:
    """Only CPU metrics of pods are collected."""

    meaning = "metrics of pods are those of the CPU alone"


@dataclass(frozen=True)
class DefaultSysctl:
    """Every pod gets a sysctl that it does not request.

    Attributes:
        name: of the sysctl.
        value: of the sysctl.
    """

    name: str
    value: str
    meaning = "pods get sysctls that they do not ask for"


@dataclass(frozen=True)
class DualStack:
    """Pods get an address of each family. Each sandbox takes longer, until its IPv6 address is known to be
    unique.
    """

    meaning = "pods have an address of each family"


@dataclass(frozen=True)
class Ipv6Only:
    """Pods have no IPv4 address."""

    meaning = "pods have IPv6 addresses only"


@dataclass(frozen=True)
class Ipv6First:
    """The IPv6 address of a pod is reported as its first."""

    meaning = "the first address of a pod is its IPv6 address"


@dataclass(frozen=True)
class CopiedLayers:
    """Each layer is stored as a copy of the one below with its changes, instead of as an overlay."""

    meaning = "layers are stored as copies"


@dataclass(frozen=True)
class ConfigurationValue:
    """A value in the configuration file of one kind of runtime.

    Attributes:
        table: of the file: the parts of its name.
        key: in the table.
        value: a number, a text, a truth value or a list of texts.
        since: the first version of the runtime that has the key.
    """

    table: tuple[str, ...]
    key: str
    value: bool | int | str | tuple[str, ...]
    since: tuple[int, int, int] = (0, 0, 0)

    @property
    def meaning(self) -> str:
        """What the setting does, for messages."""
        return f"{self.key} = {self.value} in {'.'.join(self.table)}"


@dataclass(frozen=True)
class EarlierFormat:
    """The configuration is in the format of the previous major version, as after an upgrade."""

    meaning = "the configuration is in the previous format"


@dataclass(frozen=True)
class InfraContainers:
    """Every pod has an infra container, although its namespaces need none."""

    meaning = "every pod has an infra container"


@dataclass(frozen=True)
class HandlerSnapshotter:
    """The handlers have another snapshotter than the one into which images are unpacked by default."""

    meaning = "handlers have a snapshotter of their own"


@dataclass(frozen=True)
class DiscardLayers:
    """Layers are deleted from the content store after they were unpacked."""

    meaning = "unpacked layers are discarded"


@dataclass(frozen=True)
class LogLineSize:
    """Longer lines of a container are split into several partial lines of its log.

    Attributes:
        size: in bytes.
    """

    size: int
    meaning = "long lines in logs are split at a size"


@dataclass(frozen=True)
class NriListener:
    """The daemon starts an NRI plugin that receives every event and changes nothing."""

    meaning = "an NRI plugin listens"


@dataclass(frozen=True)
class MemoryProfiles:
    """The daemon serves profiles of its memory, as the package net/http/pprof of Go does."""

    meaning = "the daemon serves profiles of its memory"


RuntimeSetting: TypeAlias = (
    DeviceOwnership
    | NoHostDevices
    | NoEvents
    | LogCap
    | PullProgress
    | Mirror
    | ShortNames
    | StreamingTls
    | CniTemplate
    | NriPlugins
    | Credentials
    | ProfilesFromRegistries
    | SplitStorage
    | ImageFolder
    | PinnedImages
    | SignaturePolicy
    | MetricsOfCpu
    | DefaultSysctl
    | DualStack
    | Ipv6Only
    | Ipv6First
    | CopiedLayers
    | ConfigurationValue
    | EarlierFormat
    | HandlerSnapshotter
    | InfraContainers
    | DiscardLayers
    | LogLineSize
    | NriListener
    | MemoryProfiles
)
