"""The test images, and why each exists: one `ImageSpec` each. `build.py` builds them, `changed` derives
others.
"""

from dataclasses import dataclass, fields, replace
from enum import StrEnum, unique
from typing import Any, TypedDict, cast

from critests.images.oci_image import (
    Compression,
    Dialect,
    EntryType,
    LayerEntry,
    directory,
    opaque,
    symlink,
    whiteout,
)
from critests.images.programs import PROGRAM_NAMES

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@unique
class Base(StrEnum):
    """An image's first layer."""

    BUSYBOX = "busybox"
    """`rootfs.root_entries`, one layer that all images with it share."""
    NOTHING = "nothing"


@unique
class Content(StrEnum):
    """What a reference to the image resolves to."""

    IMAGE = "image"
    """The manifest of an image for the machine."""
    INDEX = "index"
    """An index with the machine's architecture and others."""
    FOREIGN_INDEX = "foreign index"
    """An index without the machine's architecture."""
    ARTIFACT = "artifact"
    """A manifest whose configuration is not that of an image."""


class FileChange(TypedDict, total=False):
    """A member of the layer that `Changes.files` adds; without `kind` a file. Path as in
    `oci_image.LayerEntry`.
    """

    path: str
    content: str
    kind: str
    mode: int
    uid: int
    gid: int
    target: str


class Changes(TypedDict, total=False):
    """The differences of a derived image to its catalogue entry, as JSON in a request to the registry."""

    user: str
    env: list[str]
    command: list[str]
    stop_signal: str
    volumes: list[str]
    labels: dict[str, str]
    filler_bytes: int
    filler_layers: int
    hollow_bytes: int
    sparse_map_bytes: int
    dialect: str
    compression: str
    files: list[FileChange]


@dataclass(frozen=True, slots=True)
class ImageSpec:
    """One image of the catalogue. Empty fields are left out of the image's configuration."""

    name: str
    why: str
    """What tests need it for."""
    tags: tuple[str, ...] = ("1",)
    content: Content = Content.IMAGE
    base: Base = Base.BUSYBOX
    layers: tuple[tuple[LayerEntry, ...], ...] = ()
    """On top of the base."""
    programs: tuple[str, ...] = ()
    """Names for `programs.program`, in /bin, in a layer of their own."""
    setuid_programs: tuple[str, ...] = ()
    """Those of them that are also there as `setuid-NAME`, which runs as root."""
    user: str = ""
    env: tuple[str, ...] = (f"PATH={PATH}",)
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ("sh",)
    workdir: str = ""
    stop_signal: str = ""
    volumes: tuple[str, ...] = ()
    exposed_ports: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    filler_bytes: int = 0
    """Bytes that do not compress, in layers of their own."""
    filler_layers: int = 0
    """Number of layers for them; without bytes they are small, and each replaces a file of the one below."""
    hollow_bytes: int = 0
    """Size of a file of zeros in a layer of its own, which compresses to a thousandth."""
    sparse_map_bytes: int = 0
    """Size of the sparse map of an empty file, in a layer of its own, which compresses to a thousandth."""
    dialect: Dialect = Dialect.OCI
    compression: Compression = Compression.GZIP
    """Of the layers above the base."""
    wrong_diff_id: bool = False
    """The configuration has a wrong diff id for the last layer."""
    config_type: str = ""
    """The media type of an artifact's configuration, if that identifies the artifact."""

    def changed(self, changes: Changes) -> "ImageSpec":
        """Return an image derived from this one.

        Raises:
            ValueError: A change has no such name, or a value of the wrong kind.
        """
        known = {field.name: getattr(self, field.name) for field in fields(self)} | {"files": ()}
        values: dict[str, Any] = {}
        for name, value in cast("dict[str, object]", changes).items():
            if name not in Changes.__annotations__:
                raise ValueError(
                    f"an image has no {name!r} to change; it has {', '.join(sorted(Changes.__annotations__))}"
                )
            values[name] = _value(name, known[name], value)
        files = values.pop("files", ())
        return replace(self, **values, layers=(*self.layers, files) if files else self.layers)


def _value(name: str, old: object, new: object) -> object:
    """Return a changed value with the type of the field."""
    try:
        if name == "files":
            return tuple(_entry(cast("FileChange", each)) for each in cast("list[object]", new))
        if name == "labels":
            return tuple(sorted((str(key), str(value)) for key, value in cast("dict[str, str]", new).items()))
        if isinstance(old, tuple) and isinstance(new, list) and all(isinstance(each, str) for each in new):
            return tuple(new)
        if not isinstance(old, tuple) and isinstance(new, int if isinstance(old, int) else str):
            # str, int, bool and the enumerations all take one value
            return type(old)(new)  # type: ignore[call-arg]  # see above
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise ValueError(f"{new!r} is no {name} for an image: {error}") from error
    raise ValueError(f"{new!r} is no {name} for an image")


def _entry(change: FileChange) -> LayerEntry:
    """Return the layer member of a change."""
    kind = EntryType(change.get("kind", EntryType.FILE))
    default_mode = {EntryType.FILE: 0o644, EntryType.SYMLINK: 0o777}.get(kind, 0o755)
    return LayerEntry(
        change["path"].strip("/"),
        change.get("content", "").encode(),
        kind,
        mode=int(change.get("mode", default_mode)),
        uid=int(change.get("uid", 0)),
        gid=int(change.get("gid", 0)),
        target=change.get("target", ""),
    )


# longer than the 255 characters of a ustar header, so that the archive needs an extended one
_LONG_NAME = "long/" + "/".join(["directory-with-a-name-of-forty-characters"] * 4) + "/file-" + "n" * 120

_WHITEOUT_LAYERS = (
    (
        LayerEntry("data/kept", b"kept\n"),
        LayerEntry("data/removed", b"removed\n"),
        LayerEntry("data/replaced", b"old\n"),
        LayerEntry("removed-directory/inside", b"removed\n"),
        LayerEntry("opaque/old", b"hidden\n"),
    ),
    (
        whiteout("data/removed"),
        LayerEntry("data/replaced", b"new\n"),
        whiteout("removed-directory"),
        opaque("opaque"),
        LayerEntry("opaque/new", b"new\n"),
    ),
)
_ARCHIVE_LAYERS = (
    (
        LayerEntry("archive/first", b"linked\n", mode=0o640, uid=1000, gid=2000),
        LayerEntry(
            "archive/second", kind=EntryType.HARDLINK, target="archive/first", mode=0o640, uid=1000, gid=2000
        ),
        symlink("archive/absolute", "/archive/first"),
        symlink("archive/dangling", "nowhere"),
        LayerEntry("archive/setuid", b"#!/bin/sh\n", mode=0o4755),
        LayerEntry("archive/setgid", b"#!/bin/sh\n", mode=0o2755, gid=2000),
        directory("archive/sticky", 0o1777),
        LayerEntry("archive/fifo", kind=EntryType.FIFO, mode=0o600),
        LayerEntry("archive/unicode-ä-文", b"unicode\n"),
        LayerEntry(f"archive/{_LONG_NAME}", b"long\n"),
    ),
    (),
)

CATALOGUE: tuple[ImageSpec, ...] = (
    ImageSpec("plain", "busybox and nothing else: for every test without other needs"),
    ImageSpec(
        "pause",
        "the sandbox's own process: blocks, exits 0 on SIGTERM and SIGINT, reaps",
        base=Base.NOTHING,
        programs=("pause",),
        env=(),
        entrypoint=("/bin/pause",),
        command=(),
    ),
    ImageSpec(
        "tools",
        "busybox, and programs for what it cannot do: sys (system calls), clock (monotonic), pause",
        programs=PROGRAM_NAMES,
    ),
    ImageSpec(
        "setuid",
        "like tools, and sys once more with the set-user-id bit, so that it makes its system calls as root",
        programs=PROGRAM_NAMES,
        setuid_programs=("sys",),
    ),
    ImageSpec("user-number", "the user is a number", user="1000"),
    ImageSpec("user-number-group", "the user is a number, with a group's number", user="1000:2000"),
    ImageSpec("user-root", "the user is named as the number of root", user="0"),
    ImageSpec("user-unlisted", "the user is a number that is not in /etc/passwd", user="4321"),
    ImageSpec(
        "user-name",
        "the user is a name of /etc/passwd, member of further groups in /etc/group",
        user="tester",
    ),
    ImageSpec("user-name-group", "the user and the group are names", user="tester:crew"),
    ImageSpec(
        "user-absent",
        "the user is a name that is not in /etc/passwd: no process can run as it",
        user="nosuchuser",
    ),
    ImageSpec(
        "process",
        "every setting of the process at once: environment, entrypoint, command, working directory, stop"
        " signal, volumes, port, labels",
        layers=(
            (
                LayerEntry("work/here", b"here\n"),
                directory("data", 0o770, uid=1000, gid=2000),
                LayerEntry("data/from-image", b"from the image\n", uid=1000, gid=2000),
            ),
        ),
        env=(f"PATH={PATH}", "FROM_IMAGE=image value", "EMPTY=", "WITH_EQUALS=a=b"),
        entrypoint=(
            "/bin/sh",
            "-c",
            'echo "entrypoint $0 $*"; pwd; env; trap "exit 3" USR1; while :; do sleep 0.1; done',
        ),
        command=("command", "from image"),
        workdir="/work",
        stop_signal="SIGUSR1",
        volumes=("/data", "/empty-volume"),
        exposed_ports=("8080/tcp",),
        labels=(("org.opencontainers.image.title", "process"),),
    ),
    ImageSpec(
        "entrypoint-only",
        "an entrypoint without a command",
        entrypoint=("/bin/echo", "entrypoint"),
        command=(),
    ),
    ImageSpec(
        "no-command", "neither an entrypoint nor a command: a container must bring its own", command=()
    ),
    ImageSpec("no-environment", "no environment at all, not even PATH", env=()),
    ImageSpec(
        "workdir-absent",
        "the working directory is in no layer: the runtime creates it",
        workdir="/made/by/the/runtime",
    ),
    ImageSpec("stop-signal-name", "a stop signal by name, without SIG", stop_signal="USR2"),
    ImageSpec("stop-signal-number", "a stop signal by number", stop_signal="10"),
    ImageSpec("stop-signal-realtime", "a real-time stop signal", stop_signal="SIGRTMIN+3"),
    ImageSpec("stop-signal-invalid", "a stop signal that does not exist", stop_signal="SIGNOSUCH"),
    ImageSpec(
        "steering-labels",
        "labels that would make a daemon stop a container if it took them for its own",
        # each is a label by which a daemon marks or controls its own containers
        labels=(
            ("containerd.io/restart.status", "stopped"),
            ("io.kubernetes.cri-o.ContainerType", "sandbox"),
            ("io.cri-containerd.kind", "sandbox"),
        ),
    ),
    ImageSpec("tags", "three tags of one image", tags=("1", "2", "latest")),
    ImageSpec("index", "an index: this machine's architecture among others", content=Content.INDEX),
    ImageSpec(
        "foreign-index",
        "an index without this machine's architecture: cannot be pulled",
        content=Content.FOREIGN_INDEX,
    ),
    ImageSpec(
        "many-layers", "forty layers above the base, each replacing a file of the one below", filler_layers=40
    ),
    ImageSpec(
        "large",
        "32 MiB that do not compress, in two layers: a pull that takes a while",
        filler_bytes=32 << 20,
        filler_layers=2,
    ),
    ImageSpec(
        "whiteouts", "layers that remove files and directories of the layers below", layers=_WHITEOUT_LAYERS
    ),
    ImageSpec(
        "archive",
        "what a tar archive can contain: links, set-id bits, long names, a fifo; and an empty layer",
        layers=_ARCHIVE_LAYERS,
    ),
    ImageSpec(
        "archive-device",
        "a device node and an extended attribute",
        layers=(
            (
                LayerEntry("null", kind=EntryType.CHARACTER_DEVICE, mode=0o666, device=(1, 3)),
                LayerEntry("noted", b"noted\n", xattrs=(("user.critests", "kept"),)),
            ),
        ),
    ),
    ImageSpec(
        "docker",
        "the media types of Docker's manifest, version 2 schema 2",
        dialect=Dialect.DOCKER,
        layers=((LayerEntry("docker", b"docker\n"),),),
    ),
    ImageSpec(
        "uncompressed",
        "a layer that is not compressed",
        compression=Compression.NONE,
        layers=((LayerEntry("layer", b"tar\n"),),),
    ),
    ImageSpec(
        "zstd",
        "a layer compressed with zstd",
        compression=Compression.ZSTD,
        layers=((LayerEntry("layer", b"zstd\n"),),),
    ),
    ImageSpec("no-layers", "no layers at all", base=Base.NOTHING, env=(), command=("/nothing",)),
    ImageSpec(
        "volume",
        "no process, only files: for mounting as an image volume",
        base=Base.NOTHING,
        env=(),
        command=(),
        layers=(
            (
                LayerEntry("hello", b"hello from the image\n"),
                LayerEntry("sub/inside", b"inside\n"),
                directory("sub/deep"),
                symlink("escape", "../../../../etc"),
                symlink("absolute-escape", "/etc"),
            ),
        ),
    ),
    ImageSpec(
        "artifact",
        "a manifest whose configuration is not that of an image",
        base=Base.NOTHING,
        content=Content.ARTIFACT,
        layers=((LayerEntry("note", b"x\n"),),),
    ),
    ImageSpec(
        "seccomp-profile",
        "an artifact that is a seccomp profile: personality(2) fails with EPROTO",
        base=Base.NOTHING,
        content=Content.ARTIFACT,
        config_type="application/vnd.cncf.seccomp-profile.config.v1+json",
        layers=(
            (
                LayerEntry(
                    "profile.json",
                    b'{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["personality"],'
                    b' "action": "SCMP_ACT_ERRNO", "errnoRet": 71}]}',
                ),
            ),
        ),
    ),
    ImageSpec(
        "wrong-diff-id",
        "a layer whose content is not what the configuration says: must not be unpacked",
        layers=((LayerEntry("lie", b"lie\n"),),),
        wrong_diff_id=True,
    ),
)

IMAGES = {spec.name: spec for spec in CATALOGUE}
"""The catalogue by name."""


def image_spec(name: str) -> ImageSpec:
    """Return an image of the catalogue.

    Raises:
        ValueError: There is no such image.
    """
    if name not in IMAGES:
        raise ValueError(f"there is no test image {name!r}; there are {', '.join(sorted(IMAGES))}")
    return IMAGES[name]
