"""The repositories of the registry, with their manifests, blobs, tags, faults, access and requests."""

import re
import secrets
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from critests.images.build import BuiltImage
from critests.images.oci_image import CONFIG, EMPTY_CONFIG, Blob
from critests.images.registry_faults import MANIFESTS_ONLY, Access, RegistryFault, Request, Scope

REPOSITORY_NAME = re.compile(
    r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*"
)
TAG = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}")
_MAX_REQUESTS = 5000
_LONGEST_NAME = 200
"""With the registry's address, below the 255 characters that many clients permit (OCI distribution spec)."""


class UnknownRepositoryError(LookupError):
    """The registry has no such repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MintedImage:
    """An image in a repository of the registry."""

    image: str
    """The name in the catalogue."""
    registry: str
    """`127.0.0.1:5010`."""
    repository: str
    tags: tuple[str, ...]
    digest: str
    """The digest to which its tags resolve: of the manifest, or of the index."""
    manifest_digest: str
    """Of the manifest for this machine; empty if an index has none."""
    config_digest: str
    """The image's id in a runtime; empty if an index has no manifest for this machine."""
    layer_digests: tuple[str, ...]
    """Of the compressed layers, lowest first."""
    size: int
    """Bytes of the configuration and the compressed layers."""

    @property
    def name(self) -> str:
        """The repository's full name, without a tag."""
        return f"{self.registry}/{self.repository}"

    @property
    def reference(self) -> str:
        """The full name with the first tag, or with the digest if there is no tag."""
        return f"{self.name}:{self.tags[0]}" if self.tags else self.by_digest

    @property
    def references(self) -> tuple[str, ...]:
        """The full name with each tag."""
        return tuple(f"{self.name}:{tag}" for tag in self.tags)

    @property
    def by_digest(self) -> str:
        """The full name with the digest."""
        return f"{self.name}@{self.digest}"


@dataclass(slots=True)
class Repository:
    """One repository. The caller of its methods holds the lock of `Repositories`."""

    manifests: dict[str, Blob] = field(default_factory=dict)
    blobs: dict[str, Blob] = field(default_factory=dict)
    configs: set[str] = field(default_factory=set)
    tags: dict[str, str] = field(default_factory=dict)
    faults: list[RegistryFault] = field(default_factory=list)
    access: Access | None = None
    requests: deque[Request] = field(default_factory=lambda: deque(maxlen=_MAX_REQUESTS))
    tokens: dict[str, float] = field(default_factory=dict)
    """The end of each token's lifetime, on the monotonic clock."""

    def is_for(self, fault: RegistryFault, kind: str, reference: str) -> bool:
        """Whether a fault applies to a request."""
        scope = Scope.MANIFEST if fault.kind in MANIFESTS_ONLY else fault.scope
        if scope is Scope.CONFIG:
            return kind == "blob" and reference in self.configs
        if scope is Scope.LAYER:
            return kind == "blob" and reference not in self.configs
        return scope is Scope.ANY or scope == kind


class Repositories:
    """All repositories, safe in several threads."""

    def __init__(self) -> None:
        self._by_name: dict[str, Repository] = {}
        self._lock = threading.Lock()

    def add(self, name: str, tags: tuple[str, ...], image: BuiltImage) -> None:
        """Add an image to a repository, which is created if it is new.

        Raises:
            ValueError: The name or a tag is malformed.
        """
        if not REPOSITORY_NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
            raise ValueError(f"{name!r} is no name for a repository")
        for tag in tags:
            if not TAG.fullmatch(tag):
                raise ValueError(f"{tag!r} is no tag")
        with self._lock:
            repository = self._by_name.setdefault(name, Repository())
            for manifest in (image.top, *image.manifests):
                repository.manifests[manifest.digest] = manifest
            repository.blobs.update((blob.digest, blob) for blob in image.blobs)
            repository.configs.update(
                blob.digest for blob in image.blobs if blob.media_type in {*CONFIG.values(), EMPTY_CONFIG}
            )
            repository.tags.update(dict.fromkeys(tags, image.top.digest))

    def put(self, name: str, tag: str, manifest: Blob, blobs: Sequence[Blob]) -> None:
        """Add a manifest with a tag and further blobs, whatever they contain, to a repository, which is
        created if it is new.
        """
        with self._lock:
            repository = self._by_name.setdefault(name, Repository())
            repository.tags[tag] = manifest.digest
            for blob in (manifest, *blobs):
                repository.manifests[blob.digest] = repository.blobs[blob.digest] = blob
                if blob.media_type in {*CONFIG.values(), EMPTY_CONFIG}:
                    repository.configs.add(blob.digest)

    def copy(self, name: str, other: str) -> None:
        """Copy the content of a repository to another name.

        Raises:
            ValueError: The other name is malformed.
        """
        if not REPOSITORY_NAME.fullmatch(other) or len(other) > _LONGEST_NAME:
            raise ValueError(f"{other!r} is no name for a repository")
        with self._lock:
            source = self._repository(name)
            self._by_name[other] = Repository(
                dict(source.manifests), dict(source.blobs), set(source.configs), dict(source.tags)
            )

    def knows(self, name: str) -> bool:
        """Whether a repository exists."""
        with self._lock:
            return name in self._by_name

    def tags(self, name: str) -> list[str]:
        """Return the tags of a repository."""
        with self._lock:
            return sorted(self._repository(name).tags)

    def remove(self, name: str) -> bool:
        """Remove a repository, or with `*` at the end every one with that prefix; return whether there was
        any.
        """
        with self._lock:
            matching = [
                each
                for each in self._by_name
                if (each.startswith(name[:-1]) if name.endswith("*") else each == name)
            ]
            for each in matching:
                del self._by_name[each]
            return bool(matching)

    def find(self, name: str, kind: str, reference: str) -> Blob | None:
        """Return a manifest (by tag or digest) or a blob (by digest)."""
        with self._lock:
            repository = self._by_name.get(name)
            if repository is None:
                return None
            if kind == "blob":
                return repository.blobs.get(reference)
            return repository.manifests.get(repository.tags.get(reference, reference))

    def add_fault(self, name: str, fault: RegistryFault) -> None:
        """Add a fault to a repository. Of several, the first that applies to a request is used, in the order
        of addition.
        """
        with self._lock:
            self._by_name.setdefault(name, Repository()).faults.append(fault)

    def clear_faults(self, name: str) -> None:
        """Remove all faults of a repository."""
        with self._lock:
            if name in self._by_name:
                self._by_name[name].faults.clear()

    def meet_fault(self, name: str, method: str, kind: str, reference: str) -> RegistryFault | None:
        """Return the fault that applies to a request."""
        with self._lock:
            repository = self._by_name.get(name)
            if repository is None:
                return None
            digest = repository.tags.get(reference, reference)
            for fault in repository.faults:
                matches = fault.method in {"", method} and fault.reference in {"", reference, digest}
                if matches and repository.is_for(fault, kind, reference):
                    return fault
            return None

    def has_fault(self, name: str, fault: RegistryFault) -> bool:
        """Whether a fault is still set."""
        with self._lock:
            return name in self._by_name and any(each is fault for each in self._by_name[name].faults)

    def set_access(self, name: str, access: Access | None) -> None:
        """Set who may read a repository; None for everybody."""
        with self._lock:
            repository = self._by_name.setdefault(name, Repository())
            repository.access = access
            repository.tokens.clear()

    def access(self, name: str) -> Access | None:
        """Return who may read a repository."""
        with self._lock:
            repository = self._by_name.get(name)
            return repository.access if repository else None

    def accesses(self) -> list[tuple[str, Access]]:
        """Return the repositories that require credentials, by name."""
        with self._lock:
            return sorted((name, each.access) for name, each in self._by_name.items() if each.access)

    def new_token(self, name: str) -> tuple[str, int]:
        """Return a token for a repository and its lifetime in seconds."""
        with self._lock:
            repository = self._repository(name)
            seconds = repository.access.token_seconds if repository.access else 300
            token = secrets.token_urlsafe(24)
            repository.tokens[token] = time.monotonic() + seconds
            return token, seconds

    def holds_token(self, name: str, token: str) -> bool:
        """Whether a token is valid for a repository now."""
        with self._lock:
            repository = self._by_name.get(name)
            return repository is not None and repository.tokens.get(token, 0.0) > time.monotonic()

    def record(self, name: str, request: Request) -> None:
        """Store a request at its beginning, so that it is visible when the client has the response.

        Requests to repositories that do not exist are not stored.
        """
        with self._lock:
            if name in self._by_name:
                self._by_name[name].requests.append(request)

    def requests(self, name: str) -> list[Request]:
        """Return the requests to a repository since the last reset, at most the newest 5,000."""
        with self._lock:
            return list(self._repository(name).requests)

    def reset_requests(self, name: str) -> None:
        """Discard the requests to a repository."""
        with self._lock:
            self._repository(name).requests.clear()

    def _repository(self, name: str) -> Repository:
        if name not in self._by_name:
            raise UnknownRepositoryError(f"the registry has no repository {name}")
        return self._by_name[name]
