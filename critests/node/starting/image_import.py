"""Imports an image into a private runtime by another program, without the CRI."""

import os
import subprocess
from pathlib import Path
from typing import Final

from critests.exit_codes import CannotTest
from critests.node.host.binaries import find_program, search_path
from critests.node.run_state.footprint import MARK, Footprint
from critests.node.starting.throwaway import ThrowawayRuntime
from critests.runtimes.private_kinds import KINDS

_SECONDS: Final = 60
_SAID: Final = 500


class ImageImportFailed(CannotTest):
    """No program imports images into this kind of runtime, or the import failed."""


def import_image(runtime: ThrowawayRuntime, archive: Path, name: str) -> None:
    """Import an image into a running runtime.

    Args:
        runtime: the runtime.
        archive: an OCI image layout with only this image.
        name: the full name of the image, with registry and tag.

    Raises:
        MissingProgram: the program is not on this machine.
        ImageImportFailed: there is no program for this kind of runtime, or it failed.
    """
    kind, footprint = KINDS[runtime.kind], Footprint.read(runtime.state)
    if kind.importing is None or footprint is None:
        raise ImageImportFailed(f"no program is known that imports images into {kind.facts.title}")
    program, *arguments = kind.importing(footprint, archive, name)
    path = search_path(runtime.binary.parent)
    environment = {
        "HOME": os.environ.get("HOME", "/root"),
        "TMPDIR": str(runtime.root / "tmp"),
        **kind.environment(footprint),
        "PATH": path,
        MARK: str(footprint.state),
    }
    found = find_program(program, path=path)
    try:
        ended = subprocess.run(
            [str(found), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ImageImportFailed(f"{found} imported no image: {error}") from error
    if ended.returncode != 0:
        said = ended.stderr.decode(errors="replace").strip()[-_SAID:]
        raise ImageImportFailed(f"{found} imported no image and ended with {ended.returncode}: {said}")
