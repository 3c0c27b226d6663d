"""`critests bundle`: critests with everything that it needs, as one file for a machine without network."""

import importlib.metadata
import io
import sysconfig
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path

import click
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import critests
from critests.exit_codes import CannotTest
from critests.images.platforms import machine_architecture
from critests.images.rootfs import find_busybox

_CODE = Path(critests.__file__).parent
_INSTALLER = Path(__file__).parent / "bundle_install.sh"
_NOT_INSTALLED = (".pyc", ".faults.toml")
_READ_ONLY, _EXECUTABLE = 0o644, 0o755


@dataclass(frozen=True)
class BundleMember:
    """A file of a bundle."""

    name: str
    source: Path | bytes
    mode: int = _READ_ONLY


@click.command()
@click.argument("output", metavar="OUT.tar", type=click.Path(dir_okay=False, path_type=Path))
def bundle(output: Path) -> None:
    """Write critests and its packages into a file, for nodes without network.

    \b
    On that machine:
      tar -xf OUT.tar && sh critests-bundle/install.sh /opt/critests
      /opt/critests/bin/critests doctor

    The packages are those of this environment, extras such as numpy included. The machine must have the same
    minor version of Python and the same architecture, and a C library that is not older.
    """  # noqa: D301 - \b keeps click from wrapping the text
    members = list(_members())
    try:
        size = _write(output, members)
    except OSError as error:
        raise click.ClickException(f"{output} cannot be written: {error.strerror}") from error
    click.echo(
        f"{output}: {len(members)} files, {size / 1e6:.0f} MB, for Python {sysconfig.get_python_version()}"
    )


def _members() -> Iterator[BundleMember]:
    """Return the files of the bundle.

    Raises:
        CannotTest: a package of this environment cannot be copied, or there is no busybox.
    """
    yield BundleMember("install.sh", _INSTALLER, _EXECUTABLE)
    yield BundleMember("python-abi", f"{sysconfig.get_config_var('SOABI')}\n".encode())
    yield BundleMember("busybox", find_busybox(machine_architecture()).content, _EXECUTABLE)
    for path in _CODE.rglob("*"):
        if path.is_file() and not path.name.endswith(_NOT_INSTALLED):
            yield BundleMember(f"packages/{_CODE.name}/{path.relative_to(_CODE)}", path)
    for name, distribution in sorted(_needed().items()):
        if distribution.files is None:
            raise CannotTest(
                f"{name} cannot be copied: it was not installed by pip; use a virtual environment"
            )
        for file in distribution.files:
            metadata = file.parts[0].endswith(".dist-info")
            # critests itself may be installed from a checkout
            if (
                ".." not in file.parts
                and file.suffix != ".pyc"
                and file.name != "direct_url.json"
                and (metadata or name != "critests")
            ):
                yield BundleMember(f"packages/{file}", Path(str(file.locate())))


def _needed() -> dict[str, Distribution]:
    """Return critests and all that it requires, by name, with the extras that are installed."""
    extras = importlib.metadata.metadata("critests").get_all("Provides-Extra") or ()
    to_visit = {("critests", extra) for extra in ("", *extras)}
    visited: set[tuple[str, str]] = set()
    found: dict[str, Distribution] = {}
    while to_visit:
        name, extra = to_visit.pop()
        visited.add((name, extra))
        try:
            found[name] = importlib.metadata.distribution(name)
        except PackageNotFoundError:  # of an extra that is not installed
            continue
        for required in map(Requirement, found[name].requires or ()):
            if required.marker is None or required.marker.evaluate({"extra": extra}):
                to_visit |= {(canonicalize_name(required.name), each) for each in ("", *required.extras)}
        to_visit -= visited
    return found


def _write(output: Path, members: list[BundleMember]) -> int:
    """Write the archive and return its size in bytes; the same files always give the same archive."""
    unfinished = output.with_name(f"{output.name}.unfinished")
    try:
        with tarfile.open(unfinished, "w") as archive:
            for member in sorted(members, key=lambda each: each.name):
                content = member.source if isinstance(member.source, bytes) else member.source.read_bytes()
                entry = tarfile.TarInfo(f"critests-bundle/{member.name}")
                entry.size, entry.mode = len(content), member.mode
                archive.addfile(entry, io.BytesIO(content))
        unfinished.replace(output)
    finally:
        unfinished.unlink(missing_ok=True)
    return output.stat().st_size
