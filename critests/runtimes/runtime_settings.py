"""Settings of a private runtime: a class each, off unless requested.

A kind knows how to write each in its configuration; it raises `SettingNotSupported` for one that it lacks.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from critests.exit_codes import CannotTest

IMAGE_FOLDER = "images"
"""The name of the directory of images below the runtime's, where one is told."""


class SettingNotSupported(CannotTest):
    """This kind of runtime, or this version, has no configuration for something."""

    def __init__(self, setting: "RuntimeSetting", why: str = "") -> None:
        super().__init__(why or f"its configuration has no way to say: {setting.meaning}")


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
    """There is no stream of events of containers."""

    meaning = "there are no events of containers"


@dataclass(frozen=True)
class LogCap:
    """The log of a container is cut by the runtime itself.

    Attributes:
        size: in bytes.
    """

    size: int
    meaning = "logs of containers are cut at a size"


@dataclass(frozen=True)
class PullProgress:
    """A pull of which nothing arrives is given up.

    Attributes:
        seconds: after which; 0 is never.
    """

    seconds: int
    meaning = "pulls of which nothing arrives are given up after a time"


@dataclass(frozen=True)
class Mirror:
    """Every registry is looked for in a mirror first.

    Attributes:
        path: of the mirror's repositories, below the registry's own: what is asked for as `name` lies there
            as `path/name`.
    """

    path: str
    meaning = "a registry has a mirror"


@dataclass(frozen=True)
class StreamingTls:
    """The streaming server speaks TLS.

    Attributes:
        certificate: a file in PEM.
        key: of the certificate, likewise.
    """

    certificate: Path
    key: Path
    meaning = "the streaming server speaks TLS"


@dataclass(frozen=True)
class CniTemplate:
    """There is no CNI configuration, but a template of one that is filled in with the pod CIDR that the
    runtime is given by UpdateRuntimeConfig: until then the network is not ready.
    """

    meaning = "the CNI configuration is made from a template and the pod CIDR"


@dataclass(frozen=True)
class NriPlugins:
    """Plugins of the Node Resource Interface may be connected."""

    meaning = "plugins of the Node Resource Interface may be connected"


@dataclass(frozen=True)
class Credentials:
    """Registries get credentials from a file of the node where a pull brings none.

    Attributes:
        file: with an entry for each registry in `auths`.
    """

    file: Path
    meaning = "a file of the node has credentials for registries"


@dataclass(frozen=True)
class ProfilesFromRegistries:
    """An annotation of a pod may name a seccomp profile that lies in a registry, as an artifact."""

    meaning = "seccomp profiles may come from a registry"


@dataclass(frozen=True)
class SplitStorage:
    """Images are stored elsewhere than what containers write."""

    meaning = "images are stored apart from containers"


@dataclass(frozen=True)
class ImageFolder:
    """Images are stored in a directory of their own, which lies below the runtime's: `IMAGE_FOLDER`."""

    meaning = "images are stored in a directory that is named"


@dataclass(frozen=True)
class PinnedImages:
    """Images whose name begins in some way are pinned.

    Attributes:
        prefix: of the whole name.
    """

    prefix: str
    meaning = "images are pinned by their names"


@dataclass(frozen=True)
class MetricsOfCpu:
    """Of the kinds of metrics of pods, those of the CPU are collected, and no other."""

    meaning = "metrics of pods are those of the CPU alone"


@dataclass(frozen=True)
class DefaultSysctl:
    """Every pod gets a sysctl of which its configuration says nothing.

    Attributes:
        name: of the sysctl.
        value: of the sysctl.
    """

    name: str
    value: str
    meaning = "pods get sysctls that they do not ask for"


RuntimeSetting: TypeAlias = (
    DeviceOwnership
    | NoHostDevices
    | NoEvents
    | LogCap
    | PullProgress
    | Mirror
    | StreamingTls
    | CniTemplate
    | NriPlugins
    | Credentials
    | ProfilesFromRegistries
    | SplitStorage
    | ImageFolder
    | PinnedImages
    | MetricsOfCpu
    | DefaultSysctl
)
