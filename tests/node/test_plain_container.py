"""A handler is unfit if its OCI runtime cannot create a container from a minimal bundle."""

from pathlib import Path

import pytest

from critests.lifecycle.requests import ImageName
from critests.node.observing.oci_version import OciRuntimes, unfit_handlers
from critests.node.observing.plain_container import refused_alone
from tests.criserver import CriServer
from tests.criserver.connected import PULLED, connected, requests_in
from tests.programs import program

FAILS = "echo 'no such hierarchy' >&2; exit 1"
CREATES = "exit 0"
NEVER_FAILS_ALIKE = 'echo "failed at $(date +%N)" >&2; exit 1'


@pytest.mark.parametrize(
    ("script", "reference", "words"),
    [
        (FAILS, CREATES, "no such hierarchy"),
        (CREATES, CREATES, ""),
        (FAILS, FAILS, ""),
        (NEVER_FAILS_ALIKE, CREATES, ""),
    ],
    ids=["only this one fails", "it creates one", "both fail", "never fails the same way"],
)
def test_oci_runtime_fails_alone_if_another_creates_the_container(
    tmp_path: Path, script: str, reference: str, words: str
) -> None:
    tested, other = program(tmp_path / "crun", script), program(tmp_path / "runc", reference)

    assert refused_alone(tested, other, "critests-unit") == words


def test_no_failure_is_reported_without_another_oci_runtime(tmp_path: Path) -> None:
    tested = program(tmp_path / "crun", FAILS)
    (tmp_path / "link").symlink_to(tested)

    assert refused_alone(tested, None, "critests-unit") == ""
    assert refused_alone(tested, tmp_path / "link", "critests-unit") == ""
    assert refused_alone(tmp_path / "nowhere", tested, "critests-unit") == ""


def unfit_on_server(
    wrong: set[str], runtimes: OciRuntimes, folder: Path, image: ImageName | None = PULLED
) -> dict[str, str]:
    with connected(CriServer(wrong=wrong), pulls=True) as connection:
        return unfit_handlers(connection, requests_in(folder), runtimes, lambda: image)


@pytest.mark.parametrize(
    ("wrong", "script", "unfit"),
    [
        ({"fails=RunPodSandbox"}, FAILS, True),
        ({"fails=RunPodSandbox"}, CREATES, False),
        (set(), FAILS, False),
        ({"fails=CreateContainer"}, FAILS, True),
        ({"fails=StartContainer"}, FAILS, True),
        ({"fails=CreateContainer"}, CREATES, False),
    ],
    ids=[
        "neither creates one",
        "a fault of the daemon",
        "the daemon creates one",
        "the daemon runs the sandbox, but creates no container",
        "the daemon runs the sandbox, but starts no container",
        "a fault of the daemon in containers",
    ],
)
def test_default_handler_is_unfit_if_neither_daemon_nor_program_creates_a_container(
    wrong: set[str], script: str, unfit: bool, tmp_path: Path
) -> None:
    tested, other = program(tmp_path / "crun", script), program(tmp_path / "runc", CREATES)

    why = unfit_on_server(
        wrong, OciRuntimes(default=tested, reference=other, cgroup="critests-unit"), tmp_path
    )

    assert list(why) == ([""] if unfit else [])
    for reason in why.values():
        assert reason.startswith(f"{tested} makes no container on this machine")
        assert "'no such hierarchy'" in reason


@pytest.mark.parametrize(
    "wrong", [set(), {"fails=RunPodSandbox"}], ids=["the default works", "nothing works"]
)
def test_additional_handler_is_unfit_if_neither_daemon_nor_program_creates_a_container(
    wrong: set[str], tmp_path: Path
) -> None:
    """The server has no handler with that name."""
    tested, other = program(tmp_path / "crun", FAILS), program(tmp_path / "runc", CREATES)
    runtimes = OciRuntimes(
        {"new": tested, "works": other}, default=other, reference=other, cgroup="critests-unit"
    )

    assert list(unfit_on_server(wrong, runtimes, tmp_path)) == ["new"]


def test_sandbox_is_enough_without_an_image(tmp_path: Path) -> None:
    tested, other = program(tmp_path / "crun", FAILS), program(tmp_path / "runc", CREATES)
    runtimes = OciRuntimes(default=tested, reference=other, cgroup="critests-unit")

    assert unfit_on_server({"fails=CreateContainer"}, runtimes, tmp_path, None) == {}


def test_handler_is_fit_if_the_daemon_starts_containers_with_it(tmp_path: Path) -> None:
    tested, other = program(tmp_path / "crun", FAILS), program(tmp_path / "runc", CREATES)
    runtimes = OciRuntimes({"runc": tested}, default=other, reference=other, cgroup="critests-unit")

    assert unfit_on_server(set(), runtimes, tmp_path) == {}
