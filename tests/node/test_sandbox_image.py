"""A missing sandbox image is reported to the user, and not as a failure of the runtime."""

from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.lifecycle.requests import pulling
from critests.node.observing.sandbox_image import missing_sandbox_image
from tests.criserver import CriServer, serve
from tests.criserver.connected import connected, requests_in
from tests.criserver.state import ImageConfig
from tests.plugin.command import validate

NOWHERE = "registry.example:5000/pods/pause:3.10"
PULLABLE = "example.test/busybox:1"
OLDER = "example.test/pods/pause:3.9"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (f"wants-image={NOWHERE}", f"without the image {NOWHERE},"),
        (f"wants-image={PULLABLE}", ""),
        ("fails=RunPodSandbox", ""),
        ("unimplemented=RunPodSandbox", ""),
        ("fails=ListImages", ""),
        ("", ""),
    ],
    ids=[
        "cannot be pulled",
        "can be pulled",
        "fails for another reason",
        "no such RPC",
        "ListImages fails",
        "no failure",
    ],
)
def test_sandbox_image_is_missing_if_the_runtime_names_it_and_cannot_pull_it(
    wrong: str, message: str, tmp_path: Path
) -> None:
    with connected(CriServer(wrong={wrong} if wrong else set())) as connection:
        words = missing_sandbox_image(connection, requests_in(tmp_path), "")
        left = connection.runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items

    assert message in words
    assert bool(words) == bool(message)
    assert not left


def test_image_of_another_release_does_not_count_as_the_sandbox_image(tmp_path: Path) -> None:
    server = CriServer(wrong={f"wants-image={NOWHERE}"}, images={OLDER: ImageConfig()})
    with connected(server) as connection:
        connection.images.PullImage(pulling(OLDER))
        words = missing_sandbox_image(connection, requests_in(tmp_path), "")

    assert f"without the image {NOWHERE}," in words


def test_a_run_with_a_mirror_that_the_runtime_does_not_reach_ends_with_the_reason(tmp_path: Path) -> None:
    with serve(CriServer(wrong={"fails=PullImage"})) as endpoint:
        ended = validate(endpoint, tmp_path, "--image-prefix mirror.example/critests --select SBX-01")

    assert ended.returncode == 5, ended.stdout + ended.stderr
    said = " ".join((ended.stdout + ended.stderr).split())
    assert "--image-prefix mirror.example/critests: the runtime does not have the image" in said
    assert "mirror.example/critests/plain:1" in said
    assert not list(tmp_path.iterdir())
