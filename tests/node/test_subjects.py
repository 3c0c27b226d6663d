"""One grammar says what is under test, wherever the user names it."""

import socket
from pathlib import Path

import pytest

from critests.exit_codes import UsageError
from critests.node.subjects import (
    EndpointSubject,
    HandlerSubject,
    RunSubject,
    Subject,
    ThrowawaySubject,
    parse_handler_binaries,
    parse_subject,
    parse_throwaway,
)


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("unix:///run/containerd/containerd.sock", EndpointSubject("unix:///run/containerd/containerd.sock")),
        ("tcp://10.0.0.1:3735", EndpointSubject("tcp://10.0.0.1:3735")),
        ("containerd", ThrowawaySubject("containerd")),
        ("crio", ThrowawaySubject("crio")),
        ("containerd=/bin/sh", ThrowawaySubject("containerd", Path("/bin/sh"))),
        ("handler=crun", HandlerSubject("crun")),
        ("handler=", HandlerSubject("")),
        ("/tmp", RunSubject(Path("/tmp"))),
    ],
)
def test_each_kind_of_subject_is_told_from_the_others(text: str, subject: Subject) -> None:
    assert parse_subject(text) == subject


@pytest.mark.parametrize(
    "text", ["tcp://10.0.0.1:3735", "containerd", "crio=/bin/sh", "handler=crun", "handler="]
)
def test_a_subject_is_shown_as_the_user_writes_it(text: str) -> None:
    assert str(parse_subject(text)) == text


def test_the_path_of_a_socket_is_an_endpoint(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "x.sock"))
        assert parse_subject(str(tmp_path / "x.sock")) == EndpointSubject(f"unix://{tmp_path}/x.sock")
    assert parse_subject(str(tmp_path / "not-yet.sock")) == EndpointSubject(f"unix://{tmp_path}/not-yet.sock")


def test_an_error_names_the_option() -> None:
    for text in ("nonsense", "crio="):
        with pytest.raises(UsageError, match=f"^--against '?{text}"):
            parse_subject(text, option="--against")


def test_what_is_no_subject_is_told_what_can_be_one() -> None:
    with pytest.raises(UsageError, match=r"'nonsense' is none.*containerd\[=PATH\], crio\[=PATH\].*handler="):
        parse_subject("nonsense")


def test_only_a_throwaway_runtime_is_a_node() -> None:
    assert parse_throwaway("crio=/bin/sh") == ThrowawaySubject("crio", Path("/bin/sh"))
    with pytest.raises(UsageError, match=r"there is no way to start 'unix:///run/x\.sock' here"):
        parse_throwaway("unix:///run/x.sock")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("docker", "there is no way to start 'docker' here; known are containerd and crio"),
        ("", "there is no way to start 'nothing' here"),
        ("containerd=", "no path follows the equals sign"),
        ("containerd=/proc/self", "is a directory; name the containerd binary in it"),
        ("crio=/nowhere/crio", "there is no file /nowhere/crio"),
        ("crio=/proc/version", "/proc/version is not executable"),
    ],
)
def test_a_throwaway_runtime_that_is_not_there_is_a_sentence(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_throwaway(text)


def test_handlers_are_named_with_their_oci_runtimes() -> None:
    assert parse_handler_binaries(["crun-1.28=/bin/sh", "gvisor=/bin/ls"]) == {
        "crun-1.28": Path("/bin/sh"),
        "gvisor": Path("/bin/ls"),
    }


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["crun"], "--handler-binary crun: expected NAME=PATH"),
        (["../crun=/bin/sh"], "expected NAME=PATH"),
        (["crun="], "no path follows the equals sign"),
        (["crun=/proc/self"], "name the OCI runtime's binary in it"),
        (["crun=/nowhere/crun"], "there is no file /nowhere/crun"),
        (["crun=/bin/sh", "crun=/bin/ls"], "the handler crun has /bin/sh already"),
    ],
)
def test_a_handler_without_a_program_is_a_sentence(texts: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_handler_binaries(texts)
