"""What the registry holds: repositories with their manifests, blobs, tags, faults, access and the requests
they had.
"""

import re
import secrets
import threading
import time
from collections import deque
from dataclasses import dataclass, field

from critests.images.build import BuiltImage
from critests.images.oci_image import CONFIG, EMPTY_CONFIG, Blob
from critests.images.registry_faults import MANIFESTS_ALONE, Access, RegistryFault, Request, Scope

REPOSITORY_NAME = re.compile(
    r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*"
)
TAG = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}")
_REQUESTS_KEPT = 5000


class UnknownRepositoryError(LookupError):
    """The registry has no such repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MintedImage:
    """An image in a repository of the registry, as the one who asked for it needs to know it."""

    image: str
    """The name in the catalogue."""
    registry: str
    """`127.0.0.1:5010`."""
    repository: str
    tags: tuple[str, ...]
    digest: str
    """What its tags lead to: the digest of the manifest, or of the index."""
    manifest_digest: str
    """Of the manifest for this machine; empty where an index has none."""
    config_digest: str
    """The image's id in a runtime; empty like `manifest_digest`."""
    layer_digests: tuple[str, ...]
    """As transported, lowest first."""
    size: int
    """Bytes of the configuration and the layers as transported."""

    @property
    def name(self) -> str:
        """The repository's full name, without a tag."""
        return f"{self.registry}/{self.repository}"

    @property
    def reference(self) -> str:
        """The full name with the first tag, or with the digest where there is no tag."""
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
    """One repository. Its methods are called with the lock of `Repositories` held."""

    manifests: dict[str, Blob] = field(default_factory=dict)
    blobs: dict[str, Blob] = field(default_factory=dict)
    configs: set[str] = field(default_factory=set)
    tags: dict[str, str] = field(default_factory=dict)
    faults: list[RegistryFault] = field(default_factory=list)
    access: Access | None = None
    requests: deque[Request] = field(default_factory=lambda: deque(maxlen=_REQUESTS_KEPT))
    tokens: dict[str, float] = field(default_factory=dict)
    """Until when each is good, on the monotonic clock."""

    def is_for(self, fault: RegistryFault, kind: str, reference: str) -> bool:
        """Whether a request is in the scope of a fault."""
        scope = Scope.MANIFEST if fault.kind in MANIFESTS_ALONE else fault.scope
        if scope is Scope.CONFIG:
            return kind == "blob" and reference in self.configs
        if scope is Scope.LAYER:
            return kind == "blob" and reference not in self.configs
        return scope is Scope.ANY or scope == kind


class Repositories:
    """All repositories, safe for threads."""

    def __init__(self) -> None:
        self._by_name: dict[str, Repository] = {}
        self._lock = threading.Lock()

    def add(self, name: str, tags: tuple[str, ...], image: BuiltImage) -> None:
        """Put an image into a repository, which is made if it is new.

        Raises:
            ValueError: The name or a tag is not one.
        """
        if not REPOSITORY_NAME.fullmatch(name) or len(name) > 200:
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

    def copy(self, name: str, other: str) -> None:
        """Have another repository with what one holds now.

        Raises:
            ValueError: The other name is not one.
        """
        if not REPOSITORY_NAME.fullmatch(other) or len(other) > 200:
            raise ValueError(f"{other!r} is no name for a repository")
        with self._lock:
            held = self._repository(name)
            self._by_name[other] = Repository(
                dict(held.manifests), dict(held.blobs), set(held.configs), dict(held.tags)
            )

    def knows(self, name: str) -> bool:
        """Whether there is such a repository."""
        with self._lock:
            return name in self._by_name

    def tags(self, name: str) -> list[str]:
        """Return the tags of a repository."""
        with self._lock:
            return sorted(self._repository(name).tags)

    def remove(self, name: str) -> bool:
        """Forget a repository, or with `*` at the end every one that begins so; return whether there was
        any.
        """
        with self._lock:
            going = [
                each
                for each in self._by_name
                if (each.startswith(name[:-1]) if name.endswith("*") else each == name)
            ]
            for each in going:
                del self._by_name[each]
            return bool(going)

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
        """Let a repository misbehave. Several faults: the first that a request meets is applied, in the order
        they were added.
        """
        with self._lock:
            self._by_name.setdefault(name, Repository()).faults.append(fault)

    def clear_faults(self, name: str) -> None:
        """End all faults of a repository."""
        with self._lock:
            if name in self._by_name:
                self._by_name[name].faults.clear()

    def meet_fault(self, name: str, method: str, kind: str, reference: str) -> RegistryFault | None:
        """Return the fault that a request meets."""
        with self._lock:
            repository = self._by_name.get(name)
            if repository is None:
                return None
            digest = repository.tags.get(reference, reference)
            for fault in repository.faults:
                meant = fault.method in {"", method} and fault.reference in {"", reference, digest}
                if meant and repository.is_for(fault, kind, reference):
                    return fault
            return None

    def has_fault(self, name: str, fault: RegistryFault) -> bool:
        """Whether a fault is still set."""
        with self._lock:
            return name in self._by_name and any(each is fault for each in self._by_name[name].faults)

    def set_access(self, name: str, access: Access | None) -> None:
        """Say who may read a repository; None is everybody."""
        with self._lock:
            repository = self._by_name.setdefault(name, Repository())
            repository.access = access
            repository.tokens.clear()

    def access(self, name: str) -> Access | None:
        """Return who may read a repository."""
        with self._lock:
            repository = self._by_name.get(name)
            return repository.access if repository else None

    def schemes(self) -> list[str]:
        """Return the schemes that any repository asks for."""
        with self._lock:
            return sorted({each.access.scheme for each in self._by_name.values() if each.access})

    def new_token(self, name: str) -> tuple[str, int]:
        """Return a token for a repository and for how many seconds it is good."""
        with self._lock:
            repository = self._repository(name)
            seconds = repository.access.token_seconds if repository.access else 300
            token = secrets.token_urlsafe(24)
            repository.tokens[token] = time.monotonic() + seconds
            return token, seconds

    def holds_token(self, name: str, token: str) -> bool:
        """Whether a token is good for a repository now."""
        with self._lock:
            repository = self._by_name.get(name)
            return repository is not None and repository.tokens.get(token, 0.0) > time.monotonic()

    def record(self, name: str, request: Request) -> None:
        """Keep a request from its beginning, so that it is there when the client has its answer.

        Requests for repositories that do not exist are not kept.
        """
        with self._lock:
            if name in self._by_name:
                self._by_name[name].requests.append(request)

    def requests(self, name: str) -> list[Request]:
        """Return the requests that a repository had since the last reset, the newest 5,000 of them."""
        with self._lock:
            return list(self._repository(name).requests)

    def reset_requests(self, name: str) -> None:
        """Forget the requests of a repository."""
        with self._lock:
            self._repository(name).requests.clear()

    def _repository(self, name: str) -> Repository:
        if name not in self._by_name:
            raise UnknownRepositoryError(f"the registry has no repository {name}")
        return self._by_name[name]
