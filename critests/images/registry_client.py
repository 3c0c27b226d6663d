"""Drives a registry of ours from any process: makes images, moves tags, sets faults, reads which requests
came.
"""

import http.client
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from critests.exit_codes import CannotTest
from critests.images.catalogue import Changes
from critests.images.faults import Access, Fault, Request
from critests.images.repositories import MintedImage

_TIMEOUT_SECONDS = 60.0
ADMIN_PREFIX = "/critests/"
PAUSE_REPOSITORY = "critests/pause"


class RegistryError(CannotTest):
    """The registry could not do what it was asked for; the text is a sentence for the user."""


def repository_of(run_id: str, image: str) -> str:
    """Return the repository in which a run has an image of the catalogue (or one derived for a test)."""
    return f"critests/{run_id}/{image}"


@dataclass(frozen=True, slots=True)
class RegistryClient:
    """A handle on a registry: its address and the right to drive it, from whichever process.

    Every method raises `RegistryError` where the registry refuses or cannot be reached.
    """

    address: str
    """`127.0.0.1:5010`."""
    admin_token: str = field(repr=False)

    def mint(
        self,
        image: str,
        repository: str,
        *,
        tags: Sequence[str] | None = None,
        salt: str = "",
        labels: Mapping[str, str] | None = None,
        changes: Changes | None = None,
    ) -> MintedImage:
        """Make an image of the catalogue, or one derived from it, available in a repository.

        Args:
            image: The name in the catalogue.
            repository: Made if it is new; its other images stay.
            tags: None for those of the catalogue; an empty list for none.
            salt: See `Builder.build`: an image unlike any other, with a layer that no runtime holds yet.
            labels: Further labels of the image's configuration, such as the run's.
            changes: What it has in place of the catalogue's.
        """
        body = {
            "image": image,
            "repository": repository,
            "tags": None if tags is None else list(tags),
            "salt": salt,
            "labels": dict(labels or {}),
            "changes": changes or {},
        }
        return MintedImage.from_json(self._ask("mint", body))

    def mint_pause(self) -> MintedImage:
        """Make `critests/pause:1` available: the sandbox image of throwaway runtimes, the same in every
        run.
        """
        return self.mint("pause", PAUSE_REPOSITORY)

    def move_tag(self, repository: str, tag: str, digest: str) -> None:
        """Point a tag to another manifest or index of the repository."""
        self._ask("tag", {"repository": repository, "tag": tag, "digest": digest})

    def remove_tag(self, repository: str, tag: str) -> None:
        """Remove a tag; what it led to stays and can be pulled by digest."""
        self._ask("tag", {"repository": repository, "tag": tag, "digest": ""})

    def tags(self, repository: str) -> list[str]:
        """Return the tags of a repository, sorted."""
        return list(self._ask("tags", {"repository": repository})["tags"])

    def copy(self, repository: str, other: str) -> None:
        """Have another repository with what one holds now."""
        self._ask("copy", {"repository": repository, "other": other})

    def remove_repository(self, repository: str) -> bool:
        """Forget a repository (with `*` at the end: all that begin so) and return whether there was one."""
        return bool(self._ask("remove", {"repository": repository})["removed"])

    def fault(self, repository: str, fault: Fault) -> None:
        """Let a repository misbehave. Of several faults a request meets the first that is for it."""
        self._ask("fault", {"repository": repository, "fault": fault.to_json()})

    def clear_faults(self, repository: str) -> None:
        """End all faults of a repository, and what stalls because of them."""
        self._ask("clear-faults", {"repository": repository})

    def set_access(self, repository: str, access: Access | None) -> None:
        """Ask for credentials; None lets everybody read again."""
        self._ask("access", {"repository": repository, "access": access.to_json() if access else None})

    def requests(self, repository: str) -> list[Request]:
        """Return the requests that a repository had, oldest first, since the last reset."""
        return [
            Request.from_json(each) for each in self._ask("requests", {"repository": repository})["requests"]
        ]

    def reset_requests(self, repository: str) -> None:
        """Forget the requests that a repository had."""
        self._ask("reset-requests", {"repository": repository})

    def _ask(self, operation: str, body: Mapping[str, object]) -> dict[str, Any]:
        connection = http.client.HTTPConnection(self.address, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request(
                "POST", f"{ADMIN_PREFIX}{operation}", json.dumps(body), {"X-Critests-Token": self.admin_token}
            )
            answer = connection.getresponse()
            content: dict[str, Any] = json.loads(answer.read())
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise RegistryError(
                f"the registry of the test images at {self.address} does not answer ({error})"
            ) from error
        finally:
            connection.close()
        if "error" in content:
            raise RegistryError(f"the registry of the test images at {self.address}: {content['error']}")
        return content
