"""The probes take a checkpoint; if it fails, they run CRIU by itself."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from critests.catalogue.words import Capability
from critests.client.connection import connect
from critests.client.endpoint import Endpoint
from critests.lifecycle.cgroup_parents import CgroupDriver, CgroupParents
from critests.lifecycle.requests import ImageName, RequestBuilder, pulling
from critests.lifecycle.run_label import RunIdentity
from critests.node.observing import checkpoint_probes
from critests.node.observing.capabilities import ProbeResult
from critests.node.observing.checkpoint_probes import CheckpointProbes
from tests.criserver import CriServer, serve


def facts(server: CriServer, logs: Path) -> dict[Capability, ProbeResult]:
    with serve(server) as endpoint:
        connection = connect(Endpoint.parse(endpoint))
        try:
            run = RunIdentity.new()
            requests = RequestBuilder(run, logs, CgroupParents(run, CgroupDriver.CGROUPFS))
            image = ImageName("example.test/busybox:1", "example.test/busybox:1")
            connection.images.PullImage(pulling(image.written))
            found = CheckpointProbes(connection, "", requests, lambda: image).all()
            return {capability: probe() for capability, probe in found.items()}
        finally:
            connection.close()


def test_successful_checkpoint_proves_criu_and_checkpoint_images(tmp_path: Path) -> None:
    found = facts(CriServer(), tmp_path)

    assert {capability: fact.present for capability, fact in found.items()} == {
        Capability.CRIU: True,
        Capability.CHECKPOINT_IMAGES: True,
    }


@pytest.mark.parametrize(("code", "present"), [(0, True), (1, False)], ids=["dumps", "fails"])
def test_after_a_failed_checkpoint_criu_is_present_if_it_dumps_a_process(
    code: int, present: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "criu"
    check = "test $1 != check || exit 0"  # it succeeds in any case
    process = 'test -d /proc/$3 && test -z "$(ls -A $5)" || exit 2'
    program.write_text(f"#!/bin/sh\n{check}\n{process}\necho message >&2\nexit {code}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(checkpoint_probes, "shutil", SimpleNamespace(which=lambda *_, **__: str(program)))

    found = facts(CriServer(wrong=["fails=CheckpointContainer"]), tmp_path)

    assert found[Capability.CRIU].present is present
    assert found[Capability.CRIU].evidence == "message"
    assert found[Capability.CHECKPOINT_IMAGES].present is False


def test_criu_is_absent_without_its_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_probes, "shutil", SimpleNamespace(which=lambda *_, **__: None))

    found = facts(CriServer(wrong=["fails=CheckpointContainer"]), tmp_path)

    assert found[Capability.CRIU].present is False
