"""`critests load`: Locust with our locustfile on a runtime that is found or started, and cleaned up after."""

import contextlib
from typing import Any

import click

from critests.cli.extras import check_installed
from critests.cli.run_options import Sectioned, run_options, settings_from
from critests.exit_codes import UsageError

EPILOG = """\b
Every other option is Locust's (see `locust --help`), or our locustfile's:
  --mix pod|container|exec|list   what one cycle does (default pod)
  --rate N                        open loop: cycles per second; without it a closed loop of --users
  --arrivals constant|poisson     how they are spread; --seed N
  --warm-up SECONDS               load before the measured --run-time (default 5, and 60)
  --in-flight N, --pods N         most cycles under way; pods that stand for container, exec and list

\b
Examples:
  critests load --node containerd --users 4                  four users, one pod after another each
  critests load --rate 5 --arrivals poisson --run-time 300   five pods a second, whatever the runtime does
  critests load --mix exec --rate 50 --processes 2 --web     Locust's page on loopback
  critests load --capacity --p99 2                           the highest rate at which p99 stays under 2 s

\b
From several nodes, each with its own runtime; the master only adds up:
  critests load --master --expect-workers 2 --rate 10        anywhere
  critests load --worker --master-host 10.0.0.5              on each node"""


@click.command(cls=Sectioned, epilog=EPILOG, context_settings={"ignore_unknown_options": True})
@run_options("load")
@click.option("--web", is_flag=True, help="Locust's page on loopback, port 8089 or --web-port")
@click.option("--capacity", is_flag=True, help="search for the highest rate that keeps --p99, from --rate on")
@click.argument("locust_options", nargs=-1, type=click.UNPROCESSED)
def load(locust_options: tuple[str, ...], *, web: bool, capacity: bool, **values: Any) -> None:  # noqa: ANN401 - click hands over the options by name
    """Put load on a runtime and report latencies, errors and throughput.

    With --rate the schedule is fixed in advance and latency counts from the intended start, so that a runtime
    that stalls is seen to stall. With --users each begins again when it is done.
    """
    settings = settings_from(values)
    check_installed("locust", "scipy")
    if len(settings.handlers) > 1:
        raise UsageError("--runtime-handler: one at a time is put under load")
    # imported here: --help must not wait for gRPC
    from critests.benchmark.load.load_controller import Front, search_capacity  # noqa: PLC0415 - see above

    with contextlib.ExitStack() as stack:
        front = stack.enter_context(Front(settings, list(locust_options), web=web))
        ended = search_capacity(front) if capacity else front.run()
    click.echo(ended.reason)
    raise SystemExit(int(ended.exit_code))
