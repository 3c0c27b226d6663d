"""Of an OCI runtime that makes no container of the plainest bundle, the daemon is not accused."""

from pathlib import Path

import pytest

from critests.client.connection import connect
from critests.client.endpoint import Endpoint
from critests.lifecycle.cgroup_parents import CgroupDriver, CgroupParents
from critests.lifecycle.requests import ImageName, RequestBuilder, pulling
from critests.lifecycle.run_label import RunIdentity
from critests.node.observing.oci_version import OciRuntimes, unfit_handlers
from critests.node.observing.plain_container import refused_alone
from tests.criserver import CriServer, serve

IMAGE = ImageName("example.test/busybox:1", "example.test/busybox:1")
REFUSES = "echo 'no such hierarchy' >&2; exit 1"
MAKES = "exit 0"
NEVER_THE_SAME = 'echo "failed at $(date +%N)" >&2; exit 1'


def program(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("script", "reference", "words"),
    [
        (REFUSES, MAKES, "no such hierarchy"),
        (MAKES, MAKES, ""),
        (REFUSES, REFUSES, ""),
        (NEVER_THE_SAME, MAKES, ""),
    ],
    ids=["only this one refuses", "it makes one", "both refuse", "never says the same"],
)
def test_an_oci_runtime_is_unable_where_it_refuses_what_another_takes(
    tmp_path: Path, script: str, reference: str, words: str
) -> None:
    asked, other = program(tmp_path, "crun", script), program(tmp_path, "runc", reference)

    assert refused_alone(asked, other, "critests-unit") == words


def test_nothing_is_said_without_another_one_to_ask(tmp_path: Path) -> None:
    asked = program(tmp_path, "crun", REFUSES)
    (tmp_path / "link").symlink_to(asked)

    assert refused_alone(asked, None, "critests-unit") == ""
    assert refused_alone(asked, tmp_path / "link", "critests-unit") == ""
    assert refused_alone(tmp_path / "nowhere", asked, "critests-unit") == ""


def found(
    wrong: set[str], runtimes: OciRuntimes, folder: Path, image: ImageName | None = IMAGE
) -> dict[str, str]:
    run = RunIdentity.new()
    requests = RequestBuilder(run, folder, CgroupParents(run, CgroupDriver.CGROUPFS))
    with serve(CriServer(wrong=wrong)) as endpoint:
        connection = connect(Endpoint.parse(endpoint))
        try:
            connection.images.PullImage(pulling(IMAGE.written))
            return unfit_handlers(connection, requests, runtimes, lambda: image)
        finally:
            connection.close()


@pytest.mark.parametrize(
    ("wrong", "script", "unfit"),
    [
        ({"fails=RunPodSandbox"}, REFUSES, True),
        ({"fails=RunPodSandbox"}, MAKES, False),
        (set(), REFUSES, False),
        ({"fails=CreateContainer"}, REFUSES, True),
        ({"fails=StartContainer"}, REFUSES, True),
        ({"fails=CreateContainer"}, MAKES, False),
    ],
    ids=[
        "neither makes one",
        "a fault of the daemon",
        "the daemon makes one",
        "the daemon makes the sandbox, but creates no container",
        "the daemon makes the sandbox, but starts no container",
        "a fault of the daemon in containers",
    ],
)
def test_the_default_handler_is_unfit_where_neither_daemon_nor_program_makes_anything(
    wrong: set[str], script: str, unfit: bool, tmp_path: Path
) -> None:
    asked, other = program(tmp_path, "crun", script), program(tmp_path, "runc", MAKES)

    why = found(wrong, OciRuntimes(default=asked, reference=other, cgroup="critests-unit"), tmp_path)

    assert list(why) == ([""] if unfit else [])
    for reason in why.values():
        assert reason.startswith(f"{asked} makes no container on this machine")
        assert "'no such hierarchy'" in reason


@pytest.mark.parametrize(
    "wrong", [set(), {"fails=RunPodSandbox"}], ids=["the default works", "nothing works"]
)
def test_a_further_handler_is_unfit_where_neither_daemon_nor_program_makes_anything(
    wrong: set[str], tmp_path: Path
) -> None:
    """Our server knows no handler of that name."""
    asked, other = program(tmp_path, "crun", REFUSES), program(tmp_path, "runc", MAKES)
    runtimes = OciRuntimes(
        {"new": asked, "works": other}, default=other, reference=other, cgroup="critests-unit"
    )

    assert list(found(wrong, runtimes, tmp_path)) == ["new"]


def test_without_an_image_a_sandbox_is_enough(tmp_path: Path) -> None:
    asked, other = program(tmp_path, "crun", REFUSES), program(tmp_path, "runc", MAKES)
    runtimes = OciRuntimes(default=asked, reference=other, cgroup="critests-unit")

    assert found({"fails=CreateContainer"}, runtimes, tmp_path, None) == {}


def test_a_handler_that_the_daemon_starts_containers_with_is_fit(tmp_path: Path) -> None:
    asked, other = program(tmp_path, "crun", REFUSES), program(tmp_path, "runc", MAKES)
    runtimes = OciRuntimes({"runc": asked}, default=other, reference=other, cgroup="critests-unit")

    assert found(set(), runtimes, tmp_path) == {}
