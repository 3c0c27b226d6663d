"""The image half of the small CRI server: pulls from a table of names, or from a registry on this machine."""

import hashlib
import json
import platform
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import grpc

from critests.api import api_pb2 as cri
from tests.criserver.sandboxes import HANDLERS, fail_with
from tests.criserver.state import ImageConfig, Store, StoredImage

DEFAULT_IMAGES = {
    "example.test/busybox:1": ImageConfig(cmd=["sh"]),
    "example.test/busybox:latest": ImageConfig(cmd=["sh"]),
}
MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
REFERENCE = re.compile(
    r"(?P<host>[a-z0-9.-]+(?::\d+)?)/(?P<name>[a-z0-9._/-]+)(?::(?P<tag>[\w.-]+))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


class Images:
    """PullImage, RemoveImage, ImageStatus, ListImages, ImageFsInfo."""

    def __init__(self, store: Store, pullable: dict[str, ImageConfig]) -> None:
        self.store = store
        self.pullable = pullable

    def pull(self, request: cri.PullImageRequest) -> cri.PullImageResponse:
        """PullImage: from a registry on this machine, else from the table of names."""
        if request.image.runtime_handler not in HANDLERS:
            fail_with(
                grpc.StatusCode.NOT_FOUND, f"no handler {request.image.runtime_handler!r} is configured"
            )
        match = REFERENCE.fullmatch(request.image.image)
        if match is None:
            fail_with(grpc.StatusCode.INVALID_ARGUMENT, f"{request.image.image!r} is not an image reference")
        host, name, digest = match["host"], match["name"], match["digest"]
        tag = match["tag"] or ("" if digest else "latest")
        if host.partition(":")[0] in {"127.0.0.1", "localhost"}:
            image = self._pull_from_registry(host, name, tag, digest or "")
        else:
            image = self._pull_from_table(f"{host}/{name}", tag, digest or "")
        with self.store.lock:
            for other in self.store.images.values():
                other.tags = [known for known in other.tags if known not in image.tags]
            present = self.store.images.setdefault(image.id, image)
            present.tags = sorted({*present.tags, *image.tags})
            present.digests = sorted({*present.digests, *image.digests})
        return cri.PullImageResponse(image_ref=image.id)

    def _pull_from_table(self, name: str, tag: str, digest: str) -> StoredImage:
        config = self.pullable.get(f"{name}:{tag}") or self.pullable.get(f"{name}@{digest}")
        if config is None:
            fail_with(grpc.StatusCode.NOT_FOUND, f"no image {name!r} with tag {tag!r} can be pulled")
        sums = [hashlib.sha256(f"{kind} {config}".encode()).hexdigest() for kind in ("config", "manifest")]
        return StoredImage(
            f"sha256:{sums[0]}",
            [f"{name}:{tag}"] if tag else [],
            [f"{name}@sha256:{sums[1]}"],
            1 << 20,
            config,
        )

    def _pull_from_registry(self, host: str, name: str, tag: str, digest: str) -> StoredImage:
        top, first_digest = self._manifest(host, name, digest or tag)
        manifest = top
        if "manifests" in top:
            for entry in top["manifests"]:
                if entry.get("platform", {}).get("architecture") == ARCHITECTURE:
                    manifest = self._manifest(host, name, entry["digest"])[0]
                    break
            else:
                fail_with(grpc.StatusCode.NOT_FOUND, f"{name!r} has no image for {ARCHITECTURE}")
        layers = 0
        for layer in manifest["layers"]:
            layers += len(self._get(host, f"/v2/{name}/blobs/{layer['digest']}", layer["digest"])[0])
        config = json.loads(
            self._get(host, f"/v2/{name}/blobs/{manifest['config']['digest']}", manifest["config"]["digest"])[
                0
            ]
        )
        defaults = config.get("config", {})
        return StoredImage(
            manifest["config"]["digest"],
            [f"{host}/{name}:{tag}"] if tag and not digest else [],
            [f"{host}/{name}@{first_digest}"],
            max(layers, 1),
            ImageConfig(
                defaults.get("Entrypoint") or [],
                defaults.get("Cmd") or [],
                defaults.get("Env") or [],
                defaults.get("User", ""),
                defaults.get("StopSignal", ""),
            ),
        )

    def _manifest(self, host: str, name: str, reference: str) -> tuple[dict[str, Any], str]:
        expected = reference if reference.startswith("sha256:") else ""
        body, digest = self._get(host, f"/v2/{name}/manifests/{reference}", expected)
        return json.loads(body), digest

    @staticmethod
    def _get(host: str, path: str, expected: str) -> tuple[bytes, str]:
        request = urllib.request.Request(
            f"http://{host}{path}", headers={"Accept": ", ".join(MANIFESTS)}
        )  # loopback only
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  # loopback only
                body: bytes = answer.read()
        except urllib.error.HTTPError as error:
            code = {401: grpc.StatusCode.UNAUTHENTICATED, 404: grpc.StatusCode.NOT_FOUND}.get(
                error.code, grpc.StatusCode.UNKNOWN
            )
            fail_with(code, f"the registry returned {error.code} for {path}")
        except OSError as error:
            fail_with(grpc.StatusCode.UNAVAILABLE, f"the registry {host} did not respond: {error}")
        digest = "sha256:" + hashlib.sha256(body).hexdigest()
        if expected and digest != expected:
            fail_with(grpc.StatusCode.DATA_LOSS, f"{path} has digest {digest}")
        return body, digest

    def status(self, request: cri.ImageStatusRequest) -> cri.ImageStatusResponse:
        """ImageStatus: an empty response without an image."""
        image = self._find(request.image.image)
        if image is None:
            return cri.ImageStatusResponse()
        info = (
            {"info": json.dumps({"imageSpec": {"config": {"User": image.config.user}}})}
            if request.verbose
            else {}
        )
        return cri.ImageStatusResponse(image=image.message(), info=info)

    def _find(self, reference: str) -> StoredImage | None:
        name = reference.rpartition("/")[2]
        return self.store.find_image(reference) or (
            self.store.find_image(f"{reference}:latest") if ":" not in name else None
        )

    def remove(self, request: cri.RemoveImageRequest) -> None:
        """RemoveImage: with all its names. Absent images count as removed."""
        if not request.image.image:
            fail_with(grpc.StatusCode.INVALID_ARGUMENT, "there is no image reference")
        with self.store.lock:
            image = self._find(request.image.image)
            if image:
                del self.store.images[image.id]

    def matching(self, wanted: cri.ImageFilter) -> Iterator[cri.Image]:
        """Yield the images that match a filter."""
        reference = wanted.image.image
        with self.store.lock:
            found = [self._find(reference)] if reference else list(self.store.images.values())
        for image in found:
            if image:
                message = image.message()
                message.ClearField("spec")
                yield message

    def filesystems(self) -> cri.ImageFsInfoResponse:
        """ImageFsInfo: invented directories, the real sum of the images' sizes."""
        with self.store.lock:
            used = sum(image.size for image in self.store.images.values())
        usage = cri.FilesystemUsage(
            timestamp=time.time_ns(),
            fs_id=cri.FilesystemIdentifier(mountpoint="/var/lib"),
            used_bytes=cri.UInt64Value(value=used),
            inodes_used=cri.UInt64Value(value=10 * len(self.store.images)),
        )
        return cri.ImageFsInfoResponse(image_filesystems=[usage], container_filesystems=[usage])
