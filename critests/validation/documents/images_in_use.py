"""Images with an unusual document: how a runtime gets them, and what it does with them."""

import contextlib
import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from critests.api import api_pb2 as cri
from critests.images.build import Builder, BuiltImage
from critests.images.catalogue import Changes, image_spec
from critests.images.oci_image import CONFIG, MANIFEST, Blob, Dialect
from critests.images.registry_client import RegistryClient
from critests.lifecycle.requests import ImageName
from critests.run.object_cleanup import ObjectCleanup
from critests.run.pulled_images import PLAIN
from critests.testing import Access, OwnRuntime, RegistryFault, blocked, pulling
from critests.validation.documents.harmless_use import DocumentUser

EXIT_CODE = 7
"""Of the containers that are run from an image."""


@dataclass
class ImageUser:
    """Pulls images with an unusual document, and runs a container of each.

    Attributes:
        runtime: of the module.
        changes: of the valid image.
        repository: of the images.
    """

    runtime: OwnRuntime
    changes: Changes = field(default_factory=Changes)
    repository: str = field(init=False)
    documents: DocumentUser = field(init=False)

    def __post_init__(self) -> None:
        self.documents = DocumentUser(self.runtime)
        self.repository = f"critests/{self.runtime.context.run.id}/documents-{secrets.token_hex(4)}"

    @property
    def registry(self) -> RegistryClient:
        """The suite's registry; ends the test as blocked without one."""
        if (registry := self.runtime.context.registry) is None:
            blocked("the test needs the suite's own registry, which this run does not serve (--image-prefix)")
        return registry

    @cached_property
    def image(self) -> BuiltImage:
        """The valid image, whose blobs are in the repository."""
        built = Builder().build(image_spec(PLAIN).changed(self.changes), salt=secrets.token_hex(8))
        self.put(built.top, *built.blobs)
        return built

    @property
    def manifest(self) -> dict[str, Any]:
        """The valid image's manifest."""
        document: dict[str, Any] = json.loads(self.image.top.content)
        return document

    def put(self, manifest: Blob, *blobs: Blob) -> str:
        """Add an image to the repository, and return its reference."""
        tag = secrets.token_hex(8)
        self.registry.put(self.repository, tag, manifest, blobs)
        return f"{self.registry.address}/{self.repository}:{tag}"

    def pull(self, reference: str, owner: ObjectCleanup | None = None) -> ImageName:
        """Pull an image, which is removed after the use, or with other objects of an owner.

        Raises:
            grpc.RpcError: the runtime refuses it.
        """
        (owner or self.runtime.cleanup).cleanups.append(lambda: self._remove(reference))
        answer = self.runtime.images.PullImage(pulling(reference), timeout=self.documents.timeout)
        return ImageName(answer.image_ref, reference)

    def _remove(self, *references: str) -> None:
        for reference in references:
            self.runtime.images.RemoveImage(cri.RemoveImageRequest(image=cri.ImageSpec(image=reference)))

    def run(self, image: ImageName, command: tuple[str, ...] = ("sh", "-c", f"exit {EXIT_CODE}")) -> None:
        """Run a container of an image.

        Raises:
            grpc.RpcError: the runtime refuses it.
            AssertionError: its process ended with another exit code.
        """
        containers = self.runtime.containers
        config = containers.config(image=image, command=command)
        container = containers.attempt(config, self.documents.timeout, in_sandbox=self.documents.pod)
        status = container.exited()
        assert status.exit_code == EXIT_CODE, f"the container ended with {status.exit_code}"

    def pull_and_run(self, manifest: Blob, *blobs: Blob) -> None:
        """Pull an image and run a container of it; see `pull` and `run`."""
        self.run(self.pull(self.put(manifest, *blobs)))

    def with_config(self, document: bytes | Mapping[str, object], *layers: Blob) -> tuple[Blob, Blob]:
        """Return the manifest of the valid image with another configuration and further layers, and the
        configuration.
        """
        content = document if isinstance(document, bytes) else json.dumps(document).encode()
        config = Blob(CONFIG[Dialect.OCI], content)
        manifest = self.manifest
        manifest["config"] = config.descriptor()
        manifest["layers"] += [layer.descriptor() for layer in layers]
        return Blob(MANIFEST[Dialect.OCI], json.dumps(manifest).encode()), config

    @property
    def config(self) -> dict[str, Any]:
        """The valid image's configuration."""
        assert self.image.config is not None
        document: dict[str, Any] = json.loads(self.image.config.content)
        return document

    @cached_property
    def reference(self) -> str:
        """The reference of the valid image."""
        return self.put(self.image.top)

    @contextlib.contextmanager
    def faults(self, *faults: RegistryFault) -> Iterator[None]:
        """Let the registry misbehave for the repository."""
        for fault in faults:
            self.registry.fault(self.repository, fault)
        try:
            yield
        finally:
            self.registry.clear_faults(self.repository)

    @contextlib.contextmanager
    def access(self, access: Access) -> Iterator[None]:
        """Let the registry require credentials for the repository."""
        self.registry.set_access(self.repository, access)
        try:
            yield
        finally:
            self.registry.set_access(self.repository, None)
