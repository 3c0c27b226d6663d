"""Import of an image into a private runtime by the program of its kind."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from critests.node.run_state.footprint import Footprint
from critests.node.starting import image_import
from critests.node.starting.image_import import ImageImportFailed, import_image
from critests.node.starting.throwaway import ThrowawayRuntime
from critests.runtimes.private_kinds import KINDS
from tests.node.footprints import footprint_in
from tests.programs import program

NAME = "critests.example/imported:1"


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ThrowawayRuntime:
    """The attributes of a CRI-O that the import uses, with a directory of programs."""
    footprint = footprint_in(tmp_path, "crio")
    monkeypatch.setattr(Footprint, "read", lambda _: footprint)
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setattr(image_import, "search_path", str)
    return cast(
        "ThrowawayRuntime",
        SimpleNamespace(kind="crio", state=footprint.state, root=footprint.root, binary=programs / "crio"),
    )


def skopeo(runtime: ThrowawayRuntime, script: str) -> None:
    program(runtime.binary.with_name("skopeo"), script)


def test_import_passes_archive_name_and_storage_to_the_program_next_to_the_daemon(
    runtime: ThrowawayRuntime, tmp_path: Path
) -> None:
    skopeo(runtime, f'/bin/echo "$*" "$CONTAINERS_STORAGE_CONF" > {tmp_path}/arguments')

    import_image(runtime, tmp_path / "image.tar", NAME)

    arguments = (tmp_path / "arguments").read_text(encoding="utf-8").split()
    assert arguments[-3:] == [
        f"oci-archive:{tmp_path}/image.tar",
        f"containers-storage:{NAME}",
        str(runtime.state / "storage.conf"),
    ]


def test_import_reports_the_error_of_the_program(runtime: ThrowawayRuntime, tmp_path: Path) -> None:
    skopeo(runtime, "echo 'no space' >&2; exit 3")

    with pytest.raises(ImageImportFailed, match=re.escape("ended with 3: no space")):
        import_image(runtime, tmp_path / "image.tar", NAME)


def test_import_fails_for_a_kind_without_an_import_program(
    runtime: ThrowawayRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_import, "KINDS", {"crio": replace(KINDS["crio"], importing=None)})

    with pytest.raises(ImageImportFailed, match="CRI-O"):
        import_image(runtime, tmp_path / "image.tar", NAME)
