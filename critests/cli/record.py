"""`critests record`: write down what passes between a client and a runtime."""

import time
from pathlib import Path

import click

from critests.cli.refusals import NotWritten
from critests.client import connect
from critests.client.discovery import find
from critests.run.stop_signals import told_to_stop


@click.command()
@click.option("--runtime-endpoint", metavar="ENDPOINT", help="the runtime behind the recorder")
@click.option("--image-endpoint", metavar="ENDPOINT", help="where the image service is, if elsewhere")
@click.option(
    "--listen",
    type=click.Path(dir_okay=False, path_type=Path),
    default="/run/critests-record.sock",
    show_default=True,
    help="socket to serve, to which the client is pointed",
)
@click.argument("trace", type=click.Path(dir_okay=False, path_type=Path))
def record(runtime_endpoint: str | None, image_endpoint: str | None, listen: Path, trace: Path) -> None:
    """Write down what passes between a client and a runtime.

    TRACE is the file, compressed where it ends with .gz. Point a kubelet, crictl or another suite to the
    socket; Ctrl-C ends the recording. Credentials, values of environment variables and what commands print
    are left out; command lines, labels and paths are not.
    """
    from critests.traces.recording import TraceProxy  # noqa: PLC0415 - `--help` must not wait for gRPC
    from critests.traces.trace import Origin, line_of, opened  # noqa: PLC0415 - see above

    found = find(runtime_endpoint, image_endpoint)
    connection = connect(found.endpoint, found.image_endpoint)
    version = connection.greet()
    connection.close()
    calls = 0
    try:
        with told_to_stop() as wait, opened(trace, "w") as file:
            file.write(line_of(Origin(f"{version.runtime_name} {version.runtime_version}", time.time())))

            def note(line: str) -> None:
                nonlocal calls
                calls += 1
                file.write(line)
                file.flush()

            proxy = TraceProxy(
                found.endpoint.text,
                listen,
                lambda entry: note(line_of(entry)),
                image_upstream=found.image_endpoint.text,
            )
            with proxy:
                click.echo(f"recording {found.endpoint.text} at {proxy.endpoint}")
                wait()
    except OSError as error:
        raise NotWritten(str(error)) from error
    click.echo(f"{calls} calls in {trace}")
