"""`critests images`: the test images for people who mirror them."""

import signal
from pathlib import Path

import click

from critests.images.catalogue import CATALOGUE
from critests.images.oci_layout import IMPORTED_AS, write_layout
from critests.images.platforms import Architecture
from critests.images.registry import RegistryServer


@click.group()
def images() -> None:
    """The test images: list them, write them to disk, or serve them."""


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
    help="for which machine (default: this one)",
)
@click.option(
    "--busybox",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="a static busybox for that machine",
)
@click.argument("names", nargs=-1)
def build(directory: Path, arch: str | None, busybox: Path | None, names: tuple[str, ...]) -> None:
    """Write the images to DIRECTORY as an OCI image layout; NAMES for some of them only.

    \b
    Mirror them for example with
      skopeo copy oci:DIRECTORY:plain:1 docker://registry.example/critests/plain:1
    and give --image-prefix registry.example/critests to `critests run`. Or import them:
      tar -C DIRECTORY -c . | ctr -n k8s.io images import -
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped
    try:
        written = write_layout(directory, Architecture(arch) if arch else None, names, busybox=busybox)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    for image in written:
        click.echo(f"{image.reference:<26} {image.digest}")
    click.echo(f"imported, for example with ctr, they are called {IMPORTED_AS}NAME:TAG", err=True)


@images.command()
@click.option("--port", type=click.IntRange(1, 65535), help="default: 5010, or the next that is free")
def serve(port: int | None) -> None:
    """Serve the images on loopback as PORT/critests/NAME:TAG until Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with RegistryServer(port) as registry:
            client = registry.client()
            for spec in CATALOGUE:
                for reference in client.mint(spec.name, f"critests/{spec.name}").references:
                    click.echo(reference)
            click.echo(f"serving on {registry.address}; Ctrl-C ends it", err=True)
            signal.pause()
    except KeyboardInterrupt:
        click.echo("ended", err=True)
