"""Parsing of the subject under test: an endpoint, a private runtime, a handler or a run."""

from pathlib import Path

import pytest

from critests.exit_codes import UsageError
from critests.node.starting.targets import (
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
def test_each_kind_of_subject_is_recognised(text: str, subject: Subject) -> None:
    assert parse_subject(text) == subject


def test_node_must_be_a_private_runtime() -> None:
    assert parse_throwaway("crio=/bin/sh") == ThrowawaySubject("crio", Path("/bin/sh"))
    with pytest.raises(UsageError, match=r"there is no way to start 'unix:///run/x\.sock' here"):
        parse_throwaway("unix:///run/x.sock")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("docker", "there is no way to start 'docker' here; known are containerd and crio"),
        ("", "there is no way to start 'nothing' here"),
        ("containerd=", "no path follows the equals sign"),
        ("containerd=/proc/self", "is a directory; name the containerd binary in it"),
        ("crio=/nowhere/crio", "there is no file /nowhere/crio"),
        ("crio=/proc/version", "/proc/version is not executable"),
    ],
)
def test_error_explains_why_a_private_runtime_cannot_be_started(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_throwaway(text)


def test_handler_binaries_are_parsed_by_handler() -> None:
    assert parse_handler_binaries(["crun-1.28=/bin/sh", "gvisor=/bin/ls"]) == {
        "crun-1.28": Path("/bin/sh"),
        "gvisor": Path("/bin/ls"),
    }
