"""What is found when documents with unusual values are used."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest

from critests.documents.document_fields import ESCAPE, Expected
from critests.testing import ConditionNotMet, OwnRuntime
from critests.validation.documents.harmless_use import (
    MOST_MEMORY,
    DocumentBreach,
    DocumentUser,
    Problem,
)
from tests.refused import Refused


@dataclass(frozen=True)
class Variant:
    """A document."""

    name: str
    expected: Expected = Expected.EITHER

    def __str__(self) -> str:
        return self.name


class Private:
    """A runtime of a test's own, as far as the uses of documents need it."""

    def __init__(self, folder: Path) -> None:
        self.daemon = SimpleNamespace(
            pid=1, root=folder / "root", state=folder / "state", objects=lambda: self.left
        )
        for path in (self.daemon.root, self.daemon.state):
            path.mkdir()
        self.left: set[str] = set()
        self.broken = ""
        self.most_memory = 0
        self.restarts = 0
        self.scale = 1.0
        under_way = SimpleNamespace(waiting=contextlib.nullcontext)
        self.connection = SimpleNamespace(recorder=SimpleNamespace(under_way=under_way))
        self.cleanup = SimpleNamespace(
            discard=lambda: None, problems=[], sandboxes=[], containers=[], cleanups=[]
        )
        self.context = SimpleNamespace(daemon_pid=0, hangs=SimpleNamespace(forget=lambda: None))
        self.stub = SimpleNamespace(ListPodSandbox=lambda _: SimpleNamespace(items=[]))
        self.images = SimpleNamespace(ListImages=lambda _: SimpleNamespace(images=[]))

    def damage(self) -> str:
        """Return what has become of the daemon."""
        return self.broken

    def restart(self) -> None:
        """Start the daemon again."""
        self.broken = ""
        self.restarts += 1

    def eventually(
        self, what: str, look: Callable[[], object], seconds: float, holds: Callable[[object], bool]
    ) -> None:
        """Look once."""
        del seconds
        if not holds(look()):
            raise ConditionNotMet(what)


@pytest.fixture
def private(tmp_path: Path) -> Private:
    return Private(tmp_path)


@pytest.fixture
def user(private: Private, monkeypatch: pytest.MonkeyPatch) -> DocumentUser:
    monkeypatch.setattr(DocumentUser, "_ordinary_pod", lambda _: None)
    return DocumentUser(cast("OwnRuntime", private))


def uses(**ways: Callable[[], object]) -> Callable[[Any], None]:
    """Return a use of documents, which does something for those with a name."""
    return lambda variant: cast("None", ways.get(variant.name, lambda: None)())


def refuse() -> None:
    raise Refused(grpc.StatusCode.INVALID_ARGUMENT)


def misread() -> None:
    raise AssertionError("has another user")


def test_a_document_that_is_used_or_refused_is_no_problem(user: DocumentUser) -> None:
    assert user.breaches([Variant("used"), Variant("refused")], uses(refused=refuse)) == []


def test_a_valid_document_must_not_be_refused_or_misread(user: DocumentUser) -> None:
    documents = [Variant(name, Expected.ACCEPTED) for name in ("refused", "misread", "used")]

    found = user.breaches(documents, uses(refused=refuse, misread=misread))

    assert found == [
        DocumentBreach("refused", Problem.REFUSED, "INVALID_ARGUMENT: no"),
        DocumentBreach("misread", Problem.MEANING, "has another user"),
    ]


def test_a_document_that_must_be_refused_must_not_be_accepted(user: DocumentUser) -> None:
    documents = [Variant(name, Expected.REFUSED) for name in ("refused", "used")]

    assert user.breaches(documents, uses(refused=refuse)) == [DocumentBreach("used", Problem.ACCEPTED)]


def test_a_crash_is_of_its_document_and_the_rest_goes_on(user: DocumentUser, private: Private) -> None:
    used: list[str] = []

    def crash() -> None:
        private.broken = "it is gone"
        raise Refused(grpc.StatusCode.INVALID_ARGUMENT)

    documents = [Variant("first"), Variant("crash"), Variant("last")]
    found = user.breaches(documents, uses(crash=crash, last=lambda: used.append("last")))

    assert found == [DocumentBreach("crash", Problem.DAEMON, "it is gone")]
    assert (private.restarts, used) == (1, ["last"])


def test_no_document_is_used_after_three_crashes(user: DocumentUser, private: Private) -> None:
    def crash() -> None:
        private.broken = "it is gone"

    found = user.breaches([Variant("crash")] * 5, uses(crash=crash))

    assert len(found) == private.restarts == 3


def test_memory_of_one_document_is_bounded(user: DocumentUser, private: Private) -> None:
    def grow() -> None:
        private.most_memory += MOST_MEMORY + (1 << 20)

    (breach,) = user.breaches([Variant("small"), Variant("huge")], uses(huge=grow))

    assert (breach.variant, breach.problem) == ("huge", Problem.MEMORY)


def test_what_is_left_is_of_the_document_that_leaves_it_again(user: DocumentUser, private: Private) -> None:
    def leave() -> None:
        private.left.add(f"mount {len(private.left)}")

    found = user.breaches([Variant("clean"), Variant("leaves")], uses(leaves=leave))

    assert ("leaves", Problem.LEFT) in {(breach.variant, breach.problem) for breach in found}


def test_what_none_leaves_alone_is_of_the_group(user: DocumentUser, private: Private) -> None:
    def leave_once() -> None:
        private.left.add("process 5")

    # what the first use left is there from then on
    found = user.breaches([Variant("a"), Variant("b")], uses(b=leave_once))

    assert {breach.problem for breach in found} == {Problem.LEFT}


@pytest.mark.parametrize("place", ["root", "state/deep", "."])
def test_a_file_outside_of_containers_is_found_and_removed(
    user: DocumentUser, tmp_path: Path, place: str
) -> None:
    def escape() -> None:
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / ESCAPE).touch()

    found = user.breaches([Variant("harmless"), Variant("escapes")], uses(escapes=escape))

    assert [(breach.variant, breach.problem) for breach in found] == [("escapes", Problem.ESCAPED)]
    assert not (tmp_path / place / ESCAPE).exists()


def test_a_file_of_that_name_in_a_root_filesystem_has_not_escaped(user: DocumentUser) -> None:
    folder = user.outside.places[0] / "snapshots/1/fs"
    folder.mkdir(parents=True)
    (folder / ESCAPE).touch()

    assert user.breaches([Variant("a")], uses()) == []


@pytest.mark.parametrize("way", ["written", "linked", "removed"])
def test_a_change_of_the_canary_is_found(user: DocumentUser, way: str) -> None:
    canary = user.outside.canary

    def change() -> None:
        if way == "written":
            canary.write_text("x", encoding="utf-8")
        elif way == "linked":
            canary.with_name("another").unlink(missing_ok=True)
            canary.with_name("another").hardlink_to(canary)
        else:
            canary.unlink()

    found = user.breaches([Variant("changes")], uses(changes=change))

    assert [(breach.variant, breach.problem) for breach in found] == [("changes", Problem.ESCAPED)]
    assert canary.read_text(encoding="utf-8") == "unchanged"
