"""`critests images`: the test images, for users who mirror them."""

import signal
from pathlib import Path

import click

from critests.images.catalogue import CATALOGUE
from critests.images.oci_layout import IMPORTED_AS, write_layout
from critests.images.platforms import Architecture
from critests.images.registry import RegistryServer


@click.group()
def images() -> None:
    """List the test images, write them to disk, or serve them."""


@images.command("list")
def list_command() -> None:
    """Print name, tags and purpose of every test image."""
    for spec in CATALOGUE:
        click.echo(f"{spec.name:<22} {','.join(spec.tags):<12} {spec.why}")


@images.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--arch",
    type=click.Choice([architecture.value for architecture in Architecture]),
    help="architecture of the images (default: that of this machine)",
)
@click.option(
    "--busybox",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="a static busybox of that architecture",
)
@click.argument("names", nargs=-1)
def build(directory: Path, arch: str | None, busybox: Path | None, names: tuple[str, ...]) -> None:
    """Write the images to DIRECTORY as an OCI image layout: all of them, or those in NAMES.

    \b
    Mirror them, for example with
      skopeo copy oci:DIRECTORY:plain:1 docker://registry.example/critests/plain:1
    and pass --image-prefix registry.example/critests to `critests run`. Or import them:
      tar -C DIRECTORY -c . | ctr -n k8s.io images import -
    """  # noqa: D301 - \b keeps click from wrapping the text
    try:
        written = write_layout(directory, Architecture(arch) if arch else None, names, busybox=busybox)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    for image in written:
        click.echo(f"{image.reference:<26} {image.digest}")
    click.echo(f"after an import, e.g. with ctr, they are named {IMPORTED_AS}NAME:TAG", err=True)


@images.command()
@click.option("--port", type=click.IntRange(1, 65535), help="port (default: 5010, or the next free one)")
def serve(port: int | None) -> None:
    """Serve the images on loopback, as 127.0.0.1:PORT/critests/NAME:TAG, until Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with RegistryServer(port) as registry:
            client = registry.client()
            for spec in CATALOGUE:
                for reference in client.mint(spec.name, f"critests/{spec.name}").references:
                    click.echo(reference)
            click.echo(f"serving on {registry.address}; press Ctrl-C to stop", err=True)
            signal.pause()
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
