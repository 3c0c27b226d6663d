"""`critests load`: Locust with the suite's locustfile, on a runtime that is found or started."""

import contextlib
from typing import Any

import click

from critests.cli.extras import check_installed
from critests.cli.run_options import Sectioned, run_options, settings_from
from critests.exit_codes import CannotTest, UsageError

EPILOG = """\b
All other options are those of Locust (see `locust --help`) or of the suite's locustfile:
  --mix pod|container|exec|list   what one cycle does (default pod)
  --rate N                        open loop: cycles per second; without it a closed loop of --users
  --arrivals constant|poisson     distribution of the arrivals; --seed N
  --warm-up SECONDS               load before the measured --run-time (default 5, and 60)
  --in-flight N, --pods N         maximum concurrent cycles; running pods for container, exec and list

\b
Examples:
  critests load --node containerd --users 4                  four users, each with one pod at a time
  critests load --rate 5 --arrivals poisson --run-time 300   five pods per second, however slow the runtime is
  critests load --mix exec --rate 50 --processes 2 --web     Locust's page on loopback
  critests load --capacity --p99 2                           the highest rate at which p99 stays under 2 s

\b
On several nodes, each with its own runtime; the master only sums up:
  critests load --master --expect-workers 2 --rate 10        on any machine
  critests load --worker --master-host 10.0.0.5              on each node"""


@click.command(cls=Sectioned, epilog=EPILOG, context_settings={"ignore_unknown_options": True})
@run_options("load")
@click.option("--web", is_flag=True, help="serve Locust's page on loopback, port 8089 or --web-port")
@click.option(
    "--capacity", is_flag=True, help="search for the highest rate within --p99, from --rate upwards"
)
@click.argument("locust_options", nargs=-1, type=click.UNPROCESSED)
def load(locust_options: tuple[str, ...], *, web: bool, capacity: bool, **values: Any) -> None:  # noqa: ANN401 - click hands over the options by name
    """Put load on a runtime with Locust.

    Reports latencies, errors and throughput.

    With --rate the schedule is fixed in advance and latency is measured from the scheduled start, so that it
    includes the time in which the runtime stalls. With --users each user starts its next cycle when the last
    one is complete.
    """
    settings = settings_from(values)
    check_installed("load")
    if len(settings.handlers) > 1:
        raise UsageError("--runtime-handler: a load run takes one handler")
    # imported here: --help must not wait for gRPC
    from critests.benchmark.load.load_controller import LoadController, search_capacity  # noqa: PLC0415 - see above
    from critests.report.wording.reason_sentences import said  # noqa: PLC0415 - see above
    from critests.run.outcomes import Blocked, SetUpFailed  # noqa: PLC0415 - see above

    with contextlib.ExitStack() as stack:
        try:
            controller = stack.enter_context(LoadController(settings, list(locust_options), web=web))
        except (Blocked, SetUpFailed) as error:
            raise CannotTest(said(error.why)) from error
        ended = search_capacity(controller) if capacity else controller.run()
    click.echo(ended.reason)
    raise SystemExit(int(ended.exit_code))
