"""The API that a runtime knows: what its release is built with, or what probes prove, whichever is newer."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.client.connection import Connection, connect
from critests.client.endpoint import Endpoint
from critests.node.observing.api_level import prove
from critests.runtimes.known_runtimes import KINDS, built_with
from critests.runtimes.runtime_facts import RuntimeKind
from tests.plugin.broken_rpcs import broken_server
from tests.refused import Refused


@pytest.mark.parametrize(
    ("name", "version", "minor"),
    [
        ("containerd", "1.6.8", 23),
        ("containerd", "1.6.20~ds1", 25),
        ("containerd", "1.7.24~ds1", 27),
        ("containerd", "v2.0.5", 31),
        ("containerd", "2.1.9+unknown", 32),
        ("containerd", "2.10.0", 36),
        ("cri-o", "1.32.13", 31),
        ("cri-o", "1.36.3", 36),
        ("cri-o", "1.40.1", 36),
    ],
)
def test_a_release_is_built_with_the_api_of_its_series(name: str, version: str, minor: int) -> None:
    built = built_with(name, version)

    assert built is not None
    assert built.minor == minor


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("containerd", "1.5.18"),
        ("containerd", "2.3.0-rc.1"),
        ("containerd", "2.4.0-beta+unknown"),
        ("containerd", "2.0.5-12-gabcdef"),
        ("containerd", "1.7.23-k3s2"),
        ("containerd", ""),
        ("cri-o", "1.25.0"),
        ("cri-o", "1.30.4-3.rhaos4.17.gitabcdef.el9"),
        ("docker", "28.5.2"),
        ("other", "2.1.9"),
    ],
)
def test_pre_releases_and_forks_are_not_assumed_to_have_it(name: str, version: str) -> None:
    assert built_with(name, version) is None


def test_main_branch_of_crio_is_not_assumed_to_have_the_next_api() -> None:
    built = built_with("cri-o", "1.36.0")

    assert built is not None
    assert built.minor == 35


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_levels_rise_with_the_releases(kind: RuntimeKind) -> None:
    levels = [(tuple(map(int, first.split("."))), minor) for first, minor in kind.api_levels]

    assert levels == sorted(levels)
    assert [minor for _, minor in levels] == sorted({minor for _, minor in levels})


class NoRpcs:
    """A stub of which every RPC fails, so that probes prove nothing."""

    def __getattr__(self, _: str) -> Callable[[object], object]:
        def fail(_: object, timeout: float | None = None) -> object:
            del timeout
            raise Refused(grpc.StatusCode.UNIMPLEMENTED)

        return fail


@pytest.mark.parametrize(
    ("name", "version", "level"),
    [("containerd", "2.1.9", "1.32"), ("other", "2.1.9", "1.20")],
)
def test_level_of_a_known_release_needs_no_probe(name: str, version: str, level: str) -> None:
    connection = cast("Connection", SimpleNamespace(runtime=NoRpcs()))

    found = prove(connection, cri.VersionResponse(runtime_name=name, runtime_version=version))

    assert str(found) == level
    assert ("containerd" in found.evidence) is (name == "containerd")


def test_probes_may_prove_a_newer_api_than_that_of_the_release(tmp_path: Path) -> None:
    version = cri.VersionResponse(runtime_name="containerd", runtime_version="1.6.20")
    with broken_server("unimplemented=Nothing", tmp_path) as address:
        endpoint = Endpoint.parse(address)
        connection = connect(endpoint, endpoint)
        try:
            found = prove(connection, version)
        finally:
            connection.close()

    assert str(found) == "1.36"
