"""`critests proxy`: a runtime with faults, for trying out what notices them."""

import signal
from pathlib import Path

import click

from critests.audit.proxy.fault_proxy import run_proxy
from critests.client.discovery import find


@click.command()
@click.option("--runtime-endpoint", metavar="ENDPOINT", help="the runtime behind the proxy")
@click.option(
    "--listen",
    type=click.Path(dir_okay=False, path_type=Path),
    default="/run/critests-proxy.sock",
    show_default=True,
    help="socket to serve",
)
@click.argument("faults", nargs=-1)
def proxy(runtime_endpoint: str | None, listen: Path, faults: tuple[str, ...]) -> None:
    """Stand in front of a runtime and break one promise at a time.

    \b
    Each of FAULTS is one line, for example
      "ListPodSandbox.request.filter.state: clear"
      "StopContainer: swallow"
      "ContainerStatus.response.status.exit_code: add 1"
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped
    try:
        found = find(runtime_endpoint, None)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        run_proxy(listen, found.endpoint.text, faults, say=click.echo)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
