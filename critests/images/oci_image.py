"""OCI images as bytes: layers, configurations, manifests and indexes, reproducible at every build.

Nothing depends on the clock, on file owners or on the order of a dictionary: members of a layer are sorted
and have the time zero, gzip's header has no time, JSON has sorted keys. The digest of a gzip layer depends on
the installed zlib; its diff id does not.

Sources: OCI Image Format Specification 1.1 (config, layer, manifest, image-index, descriptor); Docker's
"Image Manifest Version 2, Schema 2" for the older media types; RFC 1952 (gzip); RFC 8878 (zstd).
"""

import hashlib
import io
import json
import struct
import tarfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum, unique

from critests.images.platforms import Platform


@unique
class Compression(StrEnum):
    """The compression of a layer."""

    NONE = "none"
    GZIP = "gzip"
    STORED = "stored"
    """A gzip file with uncompressed content: for bytes that do not compress, as fast as a copy."""
    ZSTD = "zstd"
    """A zstd frame of raw blocks."""


@unique
class Dialect(StrEnum):
    """The media types of an image."""

    OCI = "oci"
    DOCKER = "docker"
    FOREIGN = "foreign"
    """OCI's, but the layers are marked as non-distributable."""


MANIFEST = {
    Dialect.OCI: "application/vnd.oci.image.manifest.v1+json",
    Dialect.FOREIGN: "application/vnd.oci.image.manifest.v1+json",
    Dialect.DOCKER: "application/vnd.docker.distribution.manifest.v2+json",
}
INDEX = {
    Dialect.OCI: "application/vnd.oci.image.index.v1+json",
    Dialect.FOREIGN: "application/vnd.oci.image.index.v1+json",
    Dialect.DOCKER: "application/vnd.docker.distribution.manifest.list.v2+json",
}
CONFIG = {
    Dialect.OCI: "application/vnd.oci.image.config.v1+json",
    Dialect.FOREIGN: "application/vnd.oci.image.config.v1+json",
    Dialect.DOCKER: "application/vnd.docker.container.image.v1+json",
}
TITLE = "org.opencontainers.image.title"
"""Annotation with the file name of an artifact's layer; runtimes mount only layers that have it."""
EMPTY_CONFIG = "application/vnd.oci.empty.v1+json"
_LAYER = {
    (Dialect.OCI, Compression.NONE): "application/vnd.oci.image.layer.v1.tar",
    (Dialect.OCI, Compression.GZIP): "application/vnd.oci.image.layer.v1.tar+gzip",
    (Dialect.OCI, Compression.STORED): "application/vnd.oci.image.layer.v1.tar+gzip",
    (Dialect.OCI, Compression.ZSTD): "application/vnd.oci.image.layer.v1.tar+zstd",
    (Dialect.DOCKER, Compression.NONE): "application/vnd.docker.image.rootfs.diff.tar",
    (Dialect.DOCKER, Compression.GZIP): "application/vnd.docker.image.rootfs.diff.tar.gzip",
    (Dialect.DOCKER, Compression.STORED): "application/vnd.docker.image.rootfs.diff.tar.gzip",
    (Dialect.FOREIGN, Compression.NONE): "application/vnd.oci.image.layer.nondistributable.v1.tar",
    (Dialect.FOREIGN, Compression.GZIP): "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
    (Dialect.FOREIGN, Compression.STORED): "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
}


def digest(content: bytes) -> str:
    """Return the digest of bytes, as `sha256:…`."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def canonical_json(value: Mapping[str, object]) -> bytes:
    """Return JSON without spaces and with sorted keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes with their media type and digest."""

    media_type: str
    content: bytes = field(repr=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", digest(self.content))

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.content)

    def descriptor(
        self, platform: Platform | None = None, annotations: Mapping[str, str] | None = None
    ) -> dict[str, object]:
        """Return the descriptor by which another document refers to this blob."""
        described: dict[str, object] = {
            "mediaType": self.media_type,
            "digest": self.digest,
            "size": self.size,
        }
        if platform:
            described["platform"] = platform.to_json()
        if annotations:
            described["annotations"] = dict(annotations)
        return described


@unique
class EntryType(StrEnum):
    """The type of a layer's member."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"
    HARDLINK = "hardlink"
    CHARACTER_DEVICE = "character device"
    FIFO = "fifo"


_TAR_TYPE = {
    EntryType.FILE: tarfile.REGTYPE,
    EntryType.DIRECTORY: tarfile.DIRTYPE,
    EntryType.SYMLINK: tarfile.SYMTYPE,
    EntryType.HARDLINK: tarfile.LNKTYPE,
    EntryType.CHARACTER_DEVICE: tarfile.CHRTYPE,
    EntryType.FIFO: tarfile.FIFOTYPE,
}


@dataclass(frozen=True, slots=True)
class LayerEntry:
    """A member of a layer. Parent directories with owner root and mode 0755 need no entry."""

    path: str
    """Relative to the root, without a leading slash."""
    content: bytes = field(default=b"", repr=False)
    kind: EntryType = EntryType.FILE
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    target: str = ""
    """Of a symbolic link: any text. Of a hard link: the path of another entry."""
    device: tuple[int, int] = (0, 0)
    """Major and minor number."""
    xattrs: tuple[tuple[str, str], ...] = ()
    """Extended attributes by full name, such as `user.note`."""
    records: tuple[tuple[str, str], ...] = ()
    """More PAX records of its header."""


def directory(path: str, mode: int = 0o755, *, uid: int = 0, gid: int = 0) -> LayerEntry:
    """Return a directory."""
    return LayerEntry(path, kind=EntryType.DIRECTORY, mode=mode, uid=uid, gid=gid)


def symlink(path: str, target: str) -> LayerEntry:
    """Return a symbolic link."""
    return LayerEntry(path, kind=EntryType.SYMLINK, mode=0o777, target=target)


def whiteout(path: str) -> LayerEntry:
    """Return the whiteout that removes a path of the layers below."""
    parent, _, name = path.rpartition("/")
    return LayerEntry(f"{parent}/.wh.{name}" if parent else f".wh.{name}")


def opaque(path: str) -> LayerEntry:
    """Return the whiteout that hides a directory's content in the layers below."""
    return LayerEntry(f"{path}/.wh..wh..opq")


def sparse(path: str, map_bytes: int) -> LayerEntry:
    """Return an empty file with a sparse map of this size, in GNU tar's PAX format 1.0: each of its entries
    says that nothing is at the beginning.
    """
    entries = map_bytes // len(b"0\n0\n")
    written = f"{entries}\n".encode() + entries * b"0\n0\n"
    records = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": path}
    return LayerEntry(
        path,
        # the map is padded to whole blocks
        written + bytes(-len(written) % tarfile.BLOCKSIZE),
        records=(*records.items(), ("GNU.sparse.realsize", "0")),
    )


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer: the compressed blob, and the digest of the archive inside."""

    blob: Blob
    diff_id: str


def archive(entries: Iterable[LayerEntry]) -> bytes:
    """Return a tar archive of the entries and their parent directories, sorted by path (hard links last), at
    time zero.

    Raises:
        ValueError: Two entries have one path.
    """
    members: dict[str, LayerEntry] = {}
    for entry in entries:
        if entry.path in members:
            raise ValueError(f"the path {entry.path} is in the layer twice")
        members[entry.path] = entry
    for path in list(members):
        parent = path.rpartition("/")[0]
        while parent:
            members.setdefault(parent, directory(parent))
            parent = parent.rpartition("/")[0]
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for entry in sorted(
            members.values(), key=lambda entry: (entry.kind is EntryType.HARDLINK, entry.path)
        ):
            tar.addfile(_member(entry), io.BytesIO(entry.content))
    return stream.getvalue()


def pack_layer(
    entries: Iterable[LayerEntry], compression: Compression = Compression.GZIP, dialect: Dialect = Dialect.OCI
) -> Layer:
    """Return a layer.

    Raises:
        ValueError: Two entries have one path, or the dialect has no such compression.
    """
    if (dialect, compression) not in _LAYER:
        raise ValueError(f"{dialect} has no media type for a layer with compression {compression}")
    tar = archive(entries)
    return Layer(Blob(_LAYER[dialect, compression], _compressed(tar, compression)), digest(tar))


def in_dialect(layer: Layer, dialect: Dialect) -> Layer:
    """Return the same layer with the media type of another dialect."""
    gzip_types = {_LAYER[each, Compression.GZIP] for each in Dialect}
    if layer.blob.media_type not in gzip_types - {_LAYER[dialect, Compression.GZIP]}:
        return layer
    return Layer(Blob(_LAYER[dialect, Compression.GZIP], layer.blob.content), layer.diff_id)


def manifest(
    config: Blob,
    layers: Sequence[Blob],
    dialect: Dialect = Dialect.OCI,
    artifact_type: str = "",
    annotations: Sequence[Mapping[str, str]] = (),
) -> Blob:
    """Return an image manifest.

    Args:
        config: the configuration.
        layers: the lowest first.
        dialect: of the media types.
        artifact_type: of an artifact.
        annotations: of the layers, none or one for each.
    """
    document: dict[str, object] = {
        "schemaVersion": 2,
        "mediaType": MANIFEST[dialect],
        "config": config.descriptor(),
        "layers": [
            layer.descriptor(annotations=each)
            for layer, each in zip(layers, annotations or [{}] * len(layers), strict=True)
        ],
    }
    if artifact_type:
        document["artifactType"] = artifact_type
    return Blob(MANIFEST[dialect], canonical_json(document))


def index(manifests: Iterable[tuple[Blob, Platform]], dialect: Dialect = Dialect.OCI) -> Blob:
    """Return an index of manifests by platform."""
    document = {
        "schemaVersion": 2,
        "mediaType": INDEX[dialect],
        "manifests": [blob.descriptor(platform) for blob, platform in manifests],
    }
    return Blob(INDEX[dialect], canonical_json(document))


def _member(entry: LayerEntry) -> tarfile.TarInfo:
    member = tarfile.TarInfo(entry.path)
    member.type = _TAR_TYPE[entry.kind]
    member.size = len(entry.content)
    member.mode = entry.mode
    member.uid, member.gid = entry.uid, entry.gid
    member.linkname = entry.target
    member.devmajor, member.devminor = entry.device
    attributes = {f"SCHILY.xattr.{name}": value for name, value in entry.xattrs}
    member.pax_headers = attributes | dict(entry.records)
    return member


def _compressed(content: bytes, compression: Compression) -> bytes:
    if compression is Compression.NONE:
        return content
    if compression is Compression.ZSTD:
        return _zstd_raw(content)
    # not gzip.compress: the last byte of its header differs between versions of Python
    deflate = zlib.compressobj(0 if compression is Compression.STORED else 6, zlib.DEFLATED, -zlib.MAX_WBITS)
    header = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # deflate, no flags, no time, unknown system
    trailer = struct.pack("<II", zlib.crc32(content), len(content) & 0xFFFFFFFF)
    return b"".join(
        (header, deflate.compress(content), deflate.flush(), trailer)
    )  # one copy: it may be large


def _zstd_raw(content: bytes) -> bytes:
    """Return a zstd frame: one segment, content size in eight bytes, no checksum, raw blocks of at most 128
    KiB.
    """
    frame = bytearray(b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", len(content)))
    step = 128 * 1024
    for start in range(0, max(len(content), 1), step):
        block = content[start : start + step]
        last = start + step >= len(content)
        frame += (len(block) << 3 | last).to_bytes(3, "little") + block
    return bytes(frame)
