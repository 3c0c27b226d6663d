"""The probes take a checkpoint; if it fails, they run CRIU by itself."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from critests.catalogue.words import Capability
from critests.node.observing import checkpoint_probes
from critests.node.observing.capabilities import ProbeResult
from critests.node.observing.checkpoint_probes import CheckpointProbes
from tests.criserver import CriServer
from tests.criserver.connected import PULLED, connected, requests_in
from tests.programs import program


def facts(server: CriServer, logs: Path) -> dict[Capability, ProbeResult]:
    with connected(server, pulls=True) as connection:
        found = CheckpointProbes(connection, "", requests_in(logs), lambda: PULLED).all()
        return {capability: probe() for capability, probe in found.items()}


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
    check = "test $1 != check || exit 0"  # it succeeds in any case
    process = 'test -d /proc/$3 && test -z "$(ls -A $5)" || exit 2'
    criu = program(tmp_path / "criu", f"{check}\n{process}\necho message >&2\nexit {code}")
    monkeypatch.setattr(checkpoint_probes, "shutil", SimpleNamespace(which=lambda *_, **__: str(criu)))

    found = facts(CriServer(wrong=["fails=CheckpointContainer"]), tmp_path)

    assert found[Capability.CRIU].present is present
    assert found[Capability.CRIU].evidence == "message"
    assert found[Capability.CHECKPOINT_IMAGES].present is False


def test_criu_is_absent_without_its_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_probes, "shutil", SimpleNamespace(which=lambda *_, **__: None))

    found = facts(CriServer(wrong=["fails=CheckpointContainer"]), tmp_path)

    assert found[Capability.CRIU].present is False
