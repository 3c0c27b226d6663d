"""What a throwaway runtime is said to be made of."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from critests.record.identity import OCI_RUNTIME
from critests.run.runtime_parts import NODE_SETTINGS, parts_of_throwaway
from tests.programs import program


@pytest.mark.parametrize(
    ("name", "does", "reported"),
    [
        ("runc", "echo runc version 1.3.6", "runc 1.3.6"),
        ("runc", "exit 1", "runc of unknown version"),
        (
            "containerd-shim-runsc-v1",
            "echo containerd-shim-runsc-v1: 2.1.5",
            "the shim containerd-shim-runsc-v1",
        ),
    ],
)
def test_the_oci_runtime_of_a_handler_is_reported(
    tmp_path: Path, name: str, does: str, reported: str
) -> None:
    made = program(tmp_path / name, does)
    runtime: Any = SimpleNamespace(oci_program=lambda _: made, cni_plugins=tmp_path, storage="overlay")

    assert parts_of_throwaway(runtime, "any")[OCI_RUNTIME] == reported


def test_node_settings_are_reported(tmp_path: Path) -> None:
    runtime: Any = SimpleNamespace(oci_program=lambda _: None, cni_plugins=tmp_path, storage="overlay")

    assert parts_of_throwaway(runtime, "")[NODE_SETTINGS] == "default"
    assert parts_of_throwaway(runtime, "", ("ipv6-only", "nri"))[NODE_SETTINGS] == "ipv6-only, nri"
