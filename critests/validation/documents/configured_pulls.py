"""Pulls with files of a runtime's own that say from which registries images come."""

import contextlib
import os
import secrets
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import grpc

from critests.documents.document_fields import Expected
from critests.documents.pull_choices import FIRST, NOBODY, ORIGIN, SECOND, PullChoice
from critests.documents.variants import Variant
from critests.lifecycle.run_label import RUN_LABEL
from critests.run.pulled_images import PLAIN
from critests.testing import MintedImage
from critests.validation.documents.images_in_use import ImageUser

_MIRRORS = (FIRST, SECOND)


@dataclass
class ConfiguredPulls:
    """Pulls images with files that say where they come from.

    Attributes:
        images: of the module.
        folder: the files' directory.
        reloaded: the file that the daemon reads again at SIGHUP; empty if it reads all at each pull.
    """

    images: ImageUser
    folder: Path
    reloaded: str = ""

    @property
    def address(self) -> str:
        """The address of the suite's registry."""
        return self.images.registry.address

    def use(self, file: str, variant: Variant) -> None:
        """Pull an image with a file.

        Raises:
            grpc.RpcError: the runtime refuses the pull.
        """
        with self._files({file: variant.content}):
            self.images.pull(self.images.reference.replace(self.address, NOBODY, 1))

    def check(self, choice: PullChoice) -> None:
        """Pull a new image, and check from where it came.

        Raises:
            grpc.RpcError: the runtime refuses the pull.
            AssertionError: it came from elsewhere, or other places were asked.
        """
        image = self._minted(choice.lacking)
        name = f"{choice.registry}/{image.repository}" if choice.registry else image.repository
        asked_for = image.digest if choice.by_digest else image.tags[0]
        try:
            with self._files({path: text.encode() for path, text in choice.files.items()}):
                self.images.pull(f"{name}{'@' if choice.by_digest else ':'}{asked_for}")
        except grpc.RpcError:
            if choice.expected is Expected.REFUSED:
                self._compare(choice, image, asked_for)
            raise
        self._compare(choice, image, asked_for)

    def _compare(self, choice: PullChoice, image: MintedImage, asked_for: str) -> None:
        requests = {
            place: self.images.registry.requests(_repository(place, image)) for place in (ORIGIN, *_MIRRORS)
        }
        asked = {place for place, sent in requests.items() for each in sent if each.reference == asked_for}
        layer = image.layer_digests[-1]
        sources = {
            place
            for place, sent in requests.items()
            for each in sent
            if each.reference == layer and each.status == 200
        }
        expected = set() if choice.expected is Expected.REFUSED else {choice.source}
        if choice.asked is not None:
            assert asked == choice.asked
        assert sources == expected
        if choice.username:
            assert {each.username for each in requests[choice.source]} == {choice.username}

    def _minted(self, lacking: frozenset[str]) -> MintedImage:
        """Return a new image in all places but those that lack it."""
        registry, repository = self.images.registry, self.images.repository
        for place in lacking:
            registry.copy(repository, f"{place}/{repository}")
        image = registry.mint(
            PLAIN,
            repository,
            tags=[secrets.token_hex(8)],
            salt=secrets.token_hex(8),
            labels={RUN_LABEL: self.images.runtime.context.run.id},
        )
        for place in _MIRRORS:
            if place not in lacking:
                registry.copy(repository, f"{place}/{repository}")
        registry.reset_requests(repository)
        return image

    @contextlib.contextmanager
    def _files(self, contents: Mapping[str, bytes]) -> Iterator[None]:
        """Let the runtime have these files, and afterwards those from before, for its next start."""
        paths = {self.folder / path: content for path, content in contents.items()}
        before = {path: path.read_bytes() for path in paths if path.exists()}
        for path, content in paths.items():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        try:
            if self.reloaded:
                self._reload()
            yield
        finally:
            for path in paths:
                if path in before:
                    path.write_bytes(before[path])
                else:
                    path.unlink()
                    with contextlib.suppress(OSError):
                        path.parent.rmdir()

    def _reload(self) -> None:
        """Let the daemon read the files again, and wait until it has begun to; a pull waits for the rest."""
        file = self.folder / self.reloaded
        # a file that was read has a later time of access, also where the kernel updates it rarely
        os.utime(file, ns=(0, file.stat().st_mtime_ns))
        os.kill(self.images.runtime.daemon.pid, signal.SIGHUP)
        self.images.runtime.eventually("the daemon to read its file", lambda: file.stat().st_atime_ns)


def _repository(place: str, image: MintedImage) -> str:
    return f"{place}/{image.repository}" if place else image.repository
