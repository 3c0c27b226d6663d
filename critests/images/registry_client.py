"""Controls the suite's registry from any process: creates images, moves tags, sets faults, returns the
requests.
"""

import base64
import http.client
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from critests.exit_codes import CannotTest
from critests.images.catalogue import Changes
from critests.images.oci_image import Blob
from critests.images.registry_faults import Access, RegistryFault, Request
from critests.images.repositories import MintedImage
from critests.record.codec import from_plain, to_plain

_TIMEOUT_SECONDS = 60.0
ADMIN_PREFIX = "/critests/"
PAUSE_REPOSITORY = "critests/pause"


class RegistryError(CannotTest):
    """The registry could not do an operation; the message is a sentence for the user."""


def repository_of(run_id: str, image: str) -> str:
    """Return a run's repository of an image of the catalogue (or of one derived for a test)."""
    return f"critests/{run_id}/{image}"


@dataclass(frozen=True, slots=True)
class RegistryClient:
    """A client of the registry's control API, for any process.

    Every method raises `RegistryError` if the registry rejects the operation or cannot be reached.
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
        """Build an image of the catalogue, or one derived from it, and add it to a repository.

        Args:
            image: The name in the catalogue.
            repository: Created if it is new; its other images stay.
            tags: None for those of the catalogue; an empty list for none.
            salt: See `Builder.build`: makes the image unique, with a layer that no runtime has yet.
            labels: More labels of the image's configuration, such as the run's.
            changes: Differences to the catalogue.
        """
        answer = self._ask("mint", image, repository, tags, salt, labels or {}, changes or {})
        return from_plain(MintedImage, answer)

    def mint_pause(self) -> MintedImage:
        """Add `critests/pause:1`, the sandbox image of throwaway runtimes, which is the same in every run."""
        return self.mint("pause", PAUSE_REPOSITORY)

    def put(self, repository: str, tag: str, manifest: Blob, blobs: Sequence[Blob]) -> None:
        """Add a manifest or index, whatever it contains, to a repository, which is created if it is new.

        Args:
            repository: its other manifests and blobs stay.
            tag: of the manifest.
            manifest: with the media type of the response's header.
            blobs: configurations, layers or further manifests, which can be fetched as blobs and as
                manifests.
        """
        written = [(each.media_type, base64.b64encode(each.content).decode()) for each in (manifest, *blobs)]
        self._ask("put", repository, tag, written[0], written[1:])

    def copy(self, repository: str, other: str) -> None:
        """Copy the content of a repository to another name."""
        self._ask("copy", repository, other)

    def remove_repository(self, repository: str) -> bool:
        """Remove a repository (with `*` at the end: all with that prefix) and return whether there was
        one.
        """
        return bool(self._ask("remove", repository))

    def fault(self, repository: str, fault: RegistryFault) -> None:
        """Add a fault to a repository. Of several, the first that applies to a request is used."""
        self._ask("fault", repository, fault)

    def clear_faults(self, repository: str) -> None:
        """Remove all faults of a repository, and end the stalls that they caused."""
        self._ask("clear-faults", repository)

    def set_access(self, repository: str, access: Access | None) -> None:
        """Require credentials; None for none."""
        self._ask("access", repository, access)

    def requests(self, repository: str) -> list[Request]:
        """Return the requests that a repository had, oldest first, since the last reset."""
        return [from_plain(Request, each) for each in self._ask("requests", repository)]

    def reset_requests(self, repository: str) -> None:
        """Discard the requests to a repository."""
        self._ask("reset-requests", repository)

    # the result of any operation
    def _ask(self, operation: str, *arguments: object) -> Any:  # noqa: ANN401 - see above
        connection = http.client.HTTPConnection(self.address, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request(
                "POST",
                f"{ADMIN_PREFIX}{operation}",
                json.dumps(to_plain(arguments)),
                {"X-Critests-Token": self.admin_token},
            )
            response = connection.getresponse()
            content: dict[str, Any] = json.loads(response.read())
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise RegistryError(
                f"the registry of the test images at {self.address} does not respond ({error})"
            ) from error
        finally:
            connection.close()
        if "error" in content:
            raise RegistryError(f"the registry of the test images at {self.address}: {content['error']}")
        return content["answer"]
