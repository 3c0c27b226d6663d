"""The names, labels and annotations of pods and containers for which a test names none."""

import secrets
import uuid
from typing import Final

NAMESPACE: Final = "critests"


class RequestNames:
    """Short names, and no labels and annotations except the kubelet's. Subclasses have other forms that
    Kubernetes admits. Names must be unique.
    """

    @property
    def namespace(self) -> str:
        """The namespace of pods."""
        return NAMESPACE

    def uid(self) -> str:
        """Return a new uid of a pod."""
        return str(uuid.uuid4())

    def pod(self, uid: str) -> str:
        """Return the name of a pod."""
        return f"pod-{uid[:8]}"

    def container(self) -> str:
        """Return a new name of a container."""
        return f"container-{secrets.token_hex(4)}"

    def log_path(self, container: str, attempt: int) -> str:
        """Return the path of a container's log, relative to the log directory of its pod."""
        return f"{container}_{attempt}.log"

    def image_tags(self) -> list[str] | None:
        """Return the tags of an image; None for those of its specification."""
        return None

    def labels(self) -> dict[str, str]:
        """Return more labels."""
        return {}

    def annotations(self) -> dict[str, str]:
        """Return more annotations."""
        return {}
