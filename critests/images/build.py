"""Builds the images of the catalogue: each layer once, and any number of images from them."""

import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from critests.images import oci_image
from critests.images.catalogue import Base, Content, ImageSpec
from critests.images.oci_image import Blob, Compression, Dialect, Layer, LayerEntry
from critests.images.platforms import NATIVE_VARIANT, Architecture, Platform, machine_architecture
from critests.images.programs import program
from critests.images.rootfs import find_busybox, root_entries

SALT_LABEL = "critests.salt"
_FOREIGN = (Platform("amd64"), Platform("arm64", "v8"), Platform("arm", "v7"), Platform("s390x"))
_CREATED = "1970-01-01T00:00:00Z"
_DRAWN_AT_ONCE = 64 << 20
"""Bytes; Python generates at most 256 MiB of random bytes per call."""


@dataclass(frozen=True, slots=True)
class BuiltImage:
    """An image that can be served or written."""

    top: Blob
    """The manifest or index to which a tag resolves."""
    manifests: tuple[Blob, ...]
    """The manifests of an index, or the one that `top` is."""
    native: Blob | None
    """The manifest for the builder's architecture; None in an index without it."""
    config: Blob | None
    """The configuration of `native`. Its digest is the image's id."""
    layers: tuple[Layer, ...]
    """Those of `native`, lowest first."""
    blobs: tuple[Blob, ...]
    """Every configuration and layer that the manifests refer to."""

    @property
    def size(self) -> int:
        """Size in bytes of the blobs in a pull of `native`."""
        return sum(layer.blob.size for layer in self.layers) + (self.config.size if self.config else 0)


@dataclass(frozen=True, slots=True)
class _BuiltManifest:
    """One manifest with its configuration and layers."""

    manifest: Blob
    config: Blob
    layers: tuple[Layer, ...]


class Builder:
    """Builds images for one architecture and caches the layers that images share. Safe in several threads."""

    def __init__(self, architecture: Architecture | None = None, busybox: Path | None = None) -> None:
        self.architecture = architecture or machine_architecture()
        self._busybox = busybox
        self._layers: dict[object, Layer] = {}
        self._lock = threading.Lock()

    def build(
        self, spec: ImageSpec, *, salt: str = "", labels: Mapping[str, str] | None = None
    ) -> BuiltImage:
        """Build an image.

        Args:
            spec: From the catalogue, or derived from it.
            salt: A text that makes the image unique: it is in the configuration, in a small layer of its own,
                and in the content of filler layers. A runtime then has nothing of the image but its base.
            labels: More labels of the configuration; they change the image's id, but not its layers.

        Raises:
            BusyboxError: The image needs busybox and there is none.
            ValueError: The dialect has no media type for the compression.
        """
        if spec.content is Content.ARTIFACT:
            return self._built(self._artifact(spec, salt))
        layers = self._layers_of(spec, salt)
        native = self._image(spec, Platform(self.architecture), layers, salt, labels or {})
        if spec.content is Content.IMAGE:
            return self._built(native)
        own = Platform(self.architecture, NATIVE_VARIANT[self.architecture])
        parts: list[tuple[_BuiltManifest, Platform]] = (
            [] if spec.content is Content.FOREIGN_INDEX else [(native, own)]
        )
        parts += [
            (self._image(spec, other, [self._marker(other)], salt, labels or {}), other)
            for other in _FOREIGN
            if other.architecture != self.architecture
        ]
        top = oci_image.index([(part.manifest, platform) for part, platform in parts], spec.dialect)
        return self._built(
            native if spec.content is Content.INDEX else None, [part for part, _ in parts], top
        )

    @staticmethod
    def _built(
        native: _BuiltManifest | None, parts: list[_BuiltManifest] | None = None, top: Blob | None = None
    ) -> BuiltImage:
        every = parts if parts is not None else [native] if native else []
        blobs = {
            blob.digest: blob
            for part in every
            for blob in (part.config, *(layer.blob for layer in part.layers))
        }
        return BuiltImage(
            top=top or every[0].manifest,
            manifests=tuple(part.manifest for part in every),
            native=native.manifest if native else None,
            config=native.config if native else None,
            layers=native.layers if native else (),
            blobs=tuple(blobs.values()),
        )

    def _layers_of(self, spec: ImageSpec, salt: str) -> list[Layer]:
        if spec.content is Content.FOREIGN_INDEX:
            return []
        layers: list[Layer] = []
        if spec.base is Base.BUSYBOX:
            base = self._cached(
                "base",
                lambda: oci_image.pack_layer(root_entries(find_busybox(self.architecture, self._busybox))),
            )
            layers.append(oci_image.in_dialect(base, spec.dialect))
        if spec.programs:
            entries = [
                LayerEntry(f"bin/{name}", program(name, self.architecture), mode=0o755)
                for name in spec.programs
            ] + [
                LayerEntry(f"bin/setuid-{name}", program(name, self.architecture), mode=0o4755)
                for name in spec.setuid_programs
            ]
            layers.append(self._packed(entries, spec.compression, spec.dialect))
        layers += [self._packed(list(entries), spec.compression, spec.dialect) for entries in spec.layers]
        layers += [self._filler(spec, number, salt) for number in range(1, spec.filler_layers + 1)]
        if spec.hollow_bytes:
            hollow = [LayerEntry("layers/hollow", bytes(spec.hollow_bytes))]
            layers.append(oci_image.pack_layer(hollow, spec.compression, spec.dialect))
        if spec.sparse_map_bytes:
            mapped = [oci_image.sparse("layers/sparse", spec.sparse_map_bytes)]
            layers.append(oci_image.pack_layer(mapped, spec.compression, spec.dialect))
        if salt:
            layers.append(
                oci_image.pack_layer(
                    # outside of directories that an image may replace
                    [LayerEntry("critests-salt", f"{salt}\n".encode())],
                    spec.compression,
                    spec.dialect,
                )
            )

        return layers

    def _packed(self, entries: list[LayerEntry], compression: Compression, dialect: Dialect) -> Layer:
        return self._cached(
            (tuple(entries), compression, dialect),
            lambda: oci_image.pack_layer(entries, compression, dialect),
        )

    def _filler(self, spec: ImageSpec, number: int, salt: str) -> Layer:
        """Return one of the layers that only add to the number or the size."""
        size = spec.filler_bytes // spec.filler_layers
        entries = [
            LayerEntry(f"layers/{number}", f"{number}\n".encode()),
            LayerEntry("layers/last", f"{number} {salt}".strip().encode() + b"\n"),
        ]
        if not size:
            return self._packed(entries, spec.compression, spec.dialect)

        def build() -> Layer:
            filler = LayerEntry(f"layers/filler-{number}", _noise(f"{number} {salt}", size))
            return oci_image.pack_layer([*entries, filler], Compression.STORED, spec.dialect)

        return build() if salt else self._cached((number, size, spec.dialect), build)

    def _marker(self, platform: Platform) -> Layer:
        """Return the only layer of an image for another architecture, which is never run."""
        return self._packed(
            [LayerEntry("architecture", f"{platform.architecture}{platform.variant}\n".encode())],
            Compression.GZIP,
            Dialect.OCI,
        )

    def _cached(self, key: object, build: Callable[[], Layer]) -> Layer:
        with self._lock:
            if key not in self._layers:
                self._layers[key] = build()
            return self._layers[key]

    @staticmethod
    def _image(
        spec: ImageSpec, platform: Platform, layers: list[Layer], salt: str, labels: Mapping[str, str]
    ) -> _BuiltManifest:
        diff_ids = [layer.diff_id for layer in layers]
        if spec.wrong_diff_id:
            diff_ids[-1] = oci_image.digest(b"not what the layer holds")
        every_label = dict(spec.labels) | dict(labels) | ({SALT_LABEL: salt} if salt else {})
        settings: dict[str, object] = {
            "User": spec.user,
            "Env": list(spec.env),
            "Entrypoint": list(spec.entrypoint),
            "Cmd": list(spec.command),
            "WorkingDir": spec.workdir,
            "StopSignal": spec.stop_signal,
            "Volumes": {path: {} for path in spec.volumes},
            "ExposedPorts": {port: {} for port in spec.exposed_ports},
            "Labels": every_label,
        }
        document: dict[str, object] = {
            **platform.to_json(),
            "created": _CREATED,
            "config": {name: value for name, value in settings.items() if value},
            "rootfs": {"type": "layers", "diff_ids": diff_ids},
            "history": [{"created": _CREATED, "created_by": f"critests {spec.name}"} for _ in layers],
        }
        config = Blob(oci_image.CONFIG[spec.dialect], oci_image.canonical_json(document))
        blobs = [layer.blob for layer in layers]
        return _BuiltManifest(oci_image.manifest(config, blobs, spec.dialect), config, tuple(layers))

    @staticmethod
    def _artifact(spec: ImageSpec, salt: str) -> _BuiltManifest:
        """Return a manifest as in the specification's guidance for artifacts: the empty configuration, and
        layers that are no archives; or a configuration of the artifact's own type, with the salt, and
        unchanged layers.
        """
        suffix = b"" if spec.config_type else salt.encode()
        members = [entry for entries in spec.layers for entry in entries]
        titles = [{oci_image.TITLE: entry.path} for entry in members]
        contents = [entry.content + suffix for entry in members]
        layers = [Layer(Blob("text/plain", content), oci_image.digest(content)) for content in contents]
        blobs = [layer.blob for layer in layers]
        if spec.config_type:
            config = Blob(spec.config_type, oci_image.canonical_json({"salt": salt}))
            return _BuiltManifest(
                oci_image.manifest(config, blobs, annotations=titles), config, tuple(layers)
            )
        config = Blob(oci_image.EMPTY_CONFIG, b"{}")
        return _BuiltManifest(
            oci_image.manifest(
                config, blobs, artifact_type="application/vnd.critests.note", annotations=titles
            ),
            config,
            tuple(layers),
        )


def _noise(seed: str, size: int) -> bytes:
    """Return bytes that do not compress, always the same for one seed."""
    source = random.Random(seed)  # noqa: S311 - repeatable, not secret
    return b"".join(
        source.randbytes(min(_DRAWN_AT_ONCE, size - drawn)) for drawn in range(0, size, _DRAWN_AT_ONCE)
    )
