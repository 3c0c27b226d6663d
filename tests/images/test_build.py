import gzip
import io
import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from critests.images import oci_image
from critests.images.build import Builder, BuiltImage
from critests.images.catalogue import CATALOGUE, IMAGES, Changes, Content, ImageSpec, image_spec
from critests.images.oci_image import Blob, Compression, Dialect, EntryType, LayerEntry
from critests.images.oci_layout import write_archive, write_layout
from critests.images.platforms import Architecture, machine_architecture
from critests.images.programs import program
from critests.images.rootfs import BusyboxError, find_busybox, root_entries


@pytest.fixture(scope="module")
def builder() -> Builder:
    return Builder()


def parsed(blob: Blob) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(blob.content)
    return document


def members(layer: oci_image.Layer) -> dict[str, tarfile.TarInfo]:
    content = layer.blob.content
    with tarfile.open(
        fileobj=io.BytesIO(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
    ) as tar:
        return {member.name: member for member in tar.getmembers()}


def every_digest(image: BuiltImage) -> list[str]:
    return [blob.digest for blob in (image.top, *image.manifests, *image.blobs)]


@pytest.fixture(scope="module")
def another_builder() -> Builder:
    return Builder()


@pytest.mark.parametrize("name", IMAGES)
def test_two_builders_build_the_same_bytes(name: str, builder: Builder, another_builder: Builder) -> None:
    spec = image_spec(name)
    if spec.filler_bytes:
        spec = spec.changed({"filler_bytes": 1 << 20})

    first, second = (
        each.build(spec, salt="salt", labels={"b": "2", "a": "1"}) for each in (builder, another_builder)
    )

    assert every_digest(first) == every_digest(second)


@pytest.mark.parametrize(
    "spec", [spec for spec in CATALOGUE if spec.content is not Content.ARTIFACT], ids=lambda spec: spec.name
)
def test_every_manifest_has_the_fields_that_the_oci_image_specification_requires(
    builder: Builder, spec: ImageSpec
) -> None:
    image = builder.build(spec.changed({"filler_bytes": min(spec.filler_bytes, 1 << 20)}))
    blobs = {blob.digest: blob for blob in image.blobs}

    assert image.manifests
    for manifest in image.manifests:
        document = parsed(manifest)
        assert document["schemaVersion"] == 2
        assert document["mediaType"] == manifest.media_type == oci_image.MANIFEST[spec.dialect]
        for descriptor in (document["config"], *document["layers"]):
            blob = blobs[descriptor["digest"]]
            assert (descriptor["size"], descriptor["mediaType"]) == (blob.size, blob.media_type)
        config = parsed(blobs[document["config"]["digest"]])
        assert config["os"] == "linux"
        assert config["rootfs"]["type"] == "layers"
        assert len(config["rootfs"]["diff_ids"]) == len(document["layers"]) == len(config["history"])


def test_diff_ids_are_the_digests_of_the_archives(builder: Builder) -> None:
    image = builder.build(image_spec("process"))

    assert image.config
    stated = parsed(image.config)["rootfs"]["diff_ids"]
    assert (
        stated
        == [oci_image.digest(gzip.decompress(layer.blob.content)) for layer in image.layers]
        == [layer.diff_id for layer in image.layers]
    )


@pytest.mark.nightly("draws 256 MiB")
def test_a_layer_may_be_larger_than_the_most_random_bytes_of_one_call(builder: Builder) -> None:
    size = (256 << 20) + 1

    image = builder.build(image_spec("plain").changed({"filler_bytes": size, "filler_layers": 1}), salt="own")

    assert max(layer.blob.size for layer in image.layers) > size


def test_the_process_image_sets_everything(builder: Builder) -> None:
    image = builder.build(image_spec("process"))

    assert image.config
    settings = parsed(image.config)["config"]
    wanted = {"Env", "Entrypoint", "Cmd", "WorkingDir", "StopSignal", "Volumes", "ExposedPorts", "Labels"}
    assert set(settings) == wanted
    assert settings["StopSignal"] == "SIGUSR1"


def test_the_index_has_the_machine_s_architecture_and_others(builder: Builder) -> None:
    image = builder.build(image_spec("index"))

    platforms = [entry["platform"] for entry in parsed(image.top)["manifests"]]
    assert {"architecture": "arm", "os": "linux", "variant": "v7"} in platforms
    assert machine_architecture() in {platform["architecture"] for platform in platforms}
    assert image.native in image.manifests


def test_the_foreign_index_lacks_the_machine_s_architecture(builder: Builder) -> None:
    image = builder.build(image_spec("foreign-index"))

    assert machine_architecture() not in {
        entry["platform"]["architecture"] for entry in parsed(image.top)["manifests"]
    }
    assert image.native is None


@pytest.mark.parametrize("name", ["plain", "large", "pause", "artifact"])
def test_a_salt_gives_an_image_a_layer_that_no_other_has(builder: Builder, name: str) -> None:
    spec = image_spec(name).changed({"filler_bytes": 4096 if name == "large" else 0})
    one, other = (builder.build(spec, salt=salt) for salt in ("a", "b"))

    assert one.layers[-1].blob.digest != other.layers[-1].blob.digest
    assert one.top.digest != other.top.digest


def test_the_layer_of_a_salt_replaces_no_directory(builder: Builder) -> None:
    image = builder.build(image_spec("plain"), salt="a")

    assert [name for name, member in members(image.layers[-1]).items() if member.isdir()] == []


def test_layers_of_an_artifact_have_the_names_of_their_files(builder: Builder) -> None:
    manifest = parsed(builder.build(image_spec("artifact")).top)

    assert [layer["annotations"] for layer in manifest["layers"]] == [{oci_image.TITLE: "note"}]


def test_the_base_layer_is_packed_once(builder: Builder) -> None:
    assert builder.build(image_spec("plain")).layers[0] is builder.build(image_spec("tools")).layers[0]


def test_the_root_has_what_a_container_needs() -> None:
    root = members(oci_image.pack_layer(root_entries(find_busybox(machine_architecture()))))

    assert root["tmp"].mode == 0o1777
    assert root["bin/busybox"].mode == 0o755
    assert root["bin/sh"].linkname == "busybox"
    assert (root["home/tester"].uid, root["home/tester"].gid) == (1000, 1000)
    assert {"etc/passwd", "etc/group", "proc", "sys", "dev", "usr/bin/env", "bin/["} <= set(root)
    assert all(member.mtime == 0 and not member.uname for member in root.values())
    assert list(root) == sorted(root)


def test_changes_derive_an_image(builder: Builder) -> None:
    changes: Changes = {
        "user": "1001",
        "env": ["A=b"],
        "stop_signal": "SIGINT",
        "labels": {"b": "2"},
        "files": [
            {"path": "/data/file", "content": "text", "mode": 0o600, "uid": 7},
            {"path": "data/link", "kind": "symlink", "target": "/etc"},
        ],
    }
    image = builder.build(image_spec("plain").changed(changes))

    assert image.config
    settings = parsed(image.config)["config"]
    assert (settings["User"], settings["Env"], settings["StopSignal"], settings["Labels"]) == (
        "1001",
        ["A=b"],
        "SIGINT",
        {"b": "2"},
    )
    added = members(image.layers[-1])
    assert (added["data/file"].mode, added["data/file"].uid) == (0o600, 7)
    assert added["data/link"].linkname == "/etc"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"usr": "x"}, "an image has no 'usr' to change; it has command,"),
        ({"user": 5}, "5 is no user"),
        ({"env": "A=b"}, "'A=b' is no env"),
        ({"env": [1]}, "is no env"),
        ({"filler_bytes": "many"}, "is no filler_bytes"),
        ({"dialect": "latin"}, "is no dialect"),
        ({"files": [{"content": "no path"}]}, "is no files"),
    ],
)
def test_a_malformed_change_is_rejected(changes: Changes, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence.replace("[", r"\[")):
        image_spec("plain").changed(changes)


@pytest.mark.parametrize("compression", Compression)
def test_layers_have_the_compression_of_their_media_type(tmp_path: Path, compression: Compression) -> None:
    content = bytes(range(256)) * 1200
    packed = oci_image.pack_layer([LayerEntry("file", content)], compression).blob.content
    tools = {Compression.GZIP: "gzip", Compression.STORED: "gzip", Compression.ZSTD: "zstd"}

    if compression in tools:
        tool = shutil.which(tools[compression])
        if not tool:
            pytest.skip(f"{tools[compression]} is not installed")
        path = tmp_path / "layer"
        path.write_bytes(packed)
        with path.open("rb") as stream:
            packed = subprocess.run([tool, "-dc"], stdin=stream, capture_output=True, check=True).stdout

    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        file = tar.extractfile("file")
        assert file
        assert file.read() == content


def test_members_keep_kind_device_and_attributes() -> None:
    packed = members(
        oci_image.pack_layer(
            [
                LayerEntry("null", kind=EntryType.CHARACTER_DEVICE, device=(1, 3)),
                LayerEntry("z", b"z", xattrs=(("user.note", "kept"),)),
                LayerEntry("a", kind=EntryType.HARDLINK, target="z"),
                oci_image.whiteout("gone"),
                oci_image.whiteout("deep/gone"),
                oci_image.opaque("hidden"),
            ]
        )
    )

    assert packed["null"].ischr()
    assert (packed["null"].devmajor, packed["null"].devminor) == (1, 3)
    assert packed["z"].pax_headers["SCHILY.xattr.user.note"] == "kept"
    assert list(packed)[-1] == "a"  # after what it links to
    assert {".wh.gone", "deep/.wh.gone", "hidden/.wh..wh..opq"} <= set(packed)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "there is no busybox at .*install the package busybox-static"),
        (b"#!/bin/sh\n", "not a 64-bit ELF file: install the package busybox-static"),
        (program("pause", Architecture.ARM64), "is for arm64 and the images are for amd64"),
        (program("pause", Architecture.AMD64), "is no busybox, or one without a shell"),
        (
            program("pause", Architecture.AMD64).replace(b"\x51\xe5\x74\x64", b"\x03\0\0\0"),
            "is linked dynamically and would not run in an image",
        ),
    ],
    ids=["missing", "script", "foreign", "another program", "dynamic"],
)
def test_the_error_explains_why_a_busybox_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, sentence: str
) -> None:
    path = tmp_path / "busybox"
    if content:
        path.write_bytes(content)
    monkeypatch.setenv("BUSYBOX", str(path))

    with pytest.raises(BusyboxError, match=sentence):
        find_busybox(Architecture.AMD64)


def read(directory: Path, digest: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(
        (directory / "blobs" / "sha256" / digest.removeprefix("sha256:")).read_bytes()
    )
    return document


def test_a_layout_holds_every_tag_and_every_blob(tmp_path: Path) -> None:
    written = write_layout(tmp_path, names=["tags", "index"])

    assert [image.reference for image in written] == ["tags:1", "tags:2", "tags:latest", "index:1"]
    assert json.loads((tmp_path / "oci-layout").read_bytes()) == {"imageLayoutVersion": "1.0.0"}
    index = json.loads((tmp_path / "index.json").read_bytes())
    assert [entry["annotations"]["org.opencontainers.image.ref.name"] for entry in index["manifests"]] == [
        image.reference for image in written
    ]
    for path in (tmp_path / "blobs" / "sha256").iterdir():
        assert oci_image.digest(path.read_bytes()) == f"sha256:{path.name}"


def test_written_layouts_are_equal(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_layout(tmp_path / name, names=["process", "pause"])

    one, two = (
        sorted((path.name, path.read_bytes()) for path in (tmp_path / name).rglob("*") if path.is_file())
        for name in ("one", "two")
    )
    assert one == two


@pytest.mark.nightly("needs skopeo")
def test_skopeo_reads_every_image_of_a_layout(tmp_path: Path) -> None:
    skopeo = shutil.which("skopeo")
    if not skopeo:
        pytest.skip("skopeo is not installed")
    names = ["plain", "pause", "process", "many-layers", "zstd", "archive"]
    for image in write_layout(tmp_path, names=names):
        subprocess.run(
            [skopeo, "inspect", f"oci:{tmp_path}:{image.reference}"],
            check=True,
            capture_output=True,
            timeout=20,
        )


def test_an_archive_has_one_image_with_its_full_name(tmp_path: Path) -> None:
    image = Builder().build(image_spec("process"))
    write_archive(tmp_path / "image.tar", image, "critests.example/imported:1")

    with tarfile.open(tmp_path / "image.tar") as archive:
        names = archive.getnames()
        index = archive.extractfile("index.json")
        assert index is not None
        (entry,) = json.load(index)["manifests"]

    assert entry["digest"] == image.top.digest
    assert set(entry["annotations"].values()) == {"critests.example/imported:1"}
    assert {f"blobs/{each.replace(':', '/')}" for each in every_digest(image)} <= set(names)


def test_a_non_distributable_layer_has_its_media_type() -> None:
    plain, foreign = (
        oci_image.pack_layer([LayerEntry("file")], dialect=each) for each in (Dialect.OCI, Dialect.FOREIGN)
    )

    assert foreign.blob.media_type == "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"
    assert foreign.blob.content == plain.blob.content
    assert oci_image.in_dialect(plain, Dialect.FOREIGN) == foreign
