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
from critests.images.registry_faults import Access, RegistryFault, Request
from critests.images.repositories import MintedImage
from critests.record.codec import from_plain, to_plain

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
        answer = self._ask("mint", image, repository, tags, salt, labels or {}, changes or {})
        return from_plain(MintedImage, answer)

    def mint_pause(self) -> MintedImage:
        """Make `critests/pause:1` available: the sandbox image of throwaway runtimes, the same in every
        run.
        """
        return self.mint("pause", PAUSE_REPOSITORY)

    def copy(self, repository: str, other: str) -> None:
        """Have another repository with what one holds now."""
        self._ask("copy", repository, other)

    def remove_repository(self, repository: str) -> bool:
        """Forget a repository (with `*` at the end: all that begin so) and return whether there was one."""
        return bool(self._ask("remove", repository))

    def fault(self, repository: str, fault: RegistryFault) -> None:
        """Let a repository misbehave. Of several faults a request meets the first that is for it."""
        self._ask("fault", repository, fault)

    def clear_faults(self, repository: str) -> None:
        """End all faults of a repository, and what stalls because of them."""
        self._ask("clear-faults", repository)

    def set_access(self, repository: str, access: Access | None) -> None:
        """Ask for credentials; None lets everybody read again."""
        self._ask("access", repository, access)

    def requests(self, repository: str) -> list[Request]:
        """Return the requests that a repository had, oldest first, since the last reset."""
        return [from_plain(Request, each) for each in self._ask("requests", repository)]

    def reset_requests(self, repository: str) -> None:
        """Forget the requests that a repository had."""
        self._ask("reset-requests", repository)

    # whatever the operation returns
    def _ask(self, operation: str, *arguments: object) -> Any:  # noqa: ANN401 - see above
        connection = http.client.HTTPConnection(self.address, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request(
                "POST",
                f"{ADMIN_PREFIX}{operation}",
                json.dumps(to_plain(arguments)),
                {"X-Critests-Token": self.admin_token},
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
        return content["answer"]
