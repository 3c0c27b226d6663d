"""`critests load`: put load on a runtime, at a rate or with users, from one machine or from several."""

import math
import sys
from typing import Any

import click

from critests.benchmark.load.installed import check_installed
from critests.benchmark.load.plan import Load, Mix
from critests.benchmark.load.schedule import Arrivals
from critests.cli.refusals import NotWritten
from critests.cli.run_options import Sectioned, run_options, settings_from
from critests.run.settings import Settings

DEFAULT_USERS, DEFAULT_DURATION, SEARCH_FROM = 1, 60.0, 1.0
WEB_PORT = 8089
MASTER_PORT = 5557
EPILOG = """\b
Examples:
  critests load --node containerd --users 4                  four users, one pod after another each
  critests load --rate 5 --arrivals poisson --duration 300   five pods a second, whatever the runtime does
  critests load --mix exec --rate 50 --processes 2
  critests load --capacity --p99 2                           the highest rate at which p99 stays under 2 s

\b
From several nodes, each with its own runtime; the master only adds up:
  critests load --master --expect-workers 2 --rate 10        anywhere
  critests load --worker --master-host 10.0.0.5              on each node"""


@click.command(cls=Sectioned, epilog=EPILOG)
@run_options("load", help_of={"--html": "write the HTML page here"})
@click.option(
    "--mix",
    type=click.Choice([mix.value for mix in Mix]),
    default=Mix.POD.value,
    show_default=True,
    help="what one arrival does: the life of a pod, of a container, a command, both lists",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    help="open loop: arrivals per second, of all workers together",
)
@click.option(
    "--arrivals",
    type=click.Choice([kind.value for kind in Arrivals]),
    help="how they are spread (default constant)",
)
@click.option(
    "--users",
    type=click.IntRange(min=1),
    help="closed loop: users who begin again when they are done (default 1)",
)
@click.option(
    "--duration", type=click.FloatRange(min=1), metavar="SECONDS", help="measured time (default 60)"
)
@click.option(
    "--warm-up",
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="load before it",
)
@click.option("--seed", type=int, default=0, show_default=True, help="of random arrivals")
@click.option(
    "--in-flight",
    type=click.IntRange(min=1),
    help="most cycles under way at once (default 5 s of arrivals, at least 200)",
)
@click.option(
    "--pods",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="pods that stand for container, exec and list",
)
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="worker processes of this machine",
)
@click.option("--master", is_flag=True, help="lead workers on other machines, and touch no runtime")
@click.option("--worker", is_flag=True, help="put load on this machine's runtime, led by a master elsewhere")
@click.option("--master-host", metavar="HOST", help="where the master is")
@click.option(
    "--master-port", type=click.IntRange(1, 65535), default=MASTER_PORT, show_default=True, help="its port"
)
@click.option(
    "--expect-workers",
    type=click.IntRange(min=1),
    help="worker processes that the master waits for (default 1)",
)
@click.option(
    "--web",
    is_flag=False,
    flag_value=str(WEB_PORT),
    metavar="[PORT]",
    help=f"Locust's page on loopback (default {WEB_PORT})",
)
@click.option("--capacity", is_flag=True, help="search for the highest rate that keeps --p99, from --rate on")
@click.option(
    "--p99",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="bound of the whole cycle's 99th percentile",
)
def load(**values: Any) -> None:  # noqa: ANN401 - click hands over the options by name
    """Put load on a runtime and report latencies, errors and throughput.

    An open loop (--rate) has its schedule fixed in advance: latency counts from the intended start, so that a
    runtime that stalls is seen to stall. A closed loop (--users) measures how fast the runtime can be when
    nobody waits in line.
    """
    settings = settings_from(values)
    _check(settings, values)
    check_installed()
    _run(settings, values)


def _check(settings: Settings, values: dict[str, Any]) -> None:
    """Refuse what makes no sense together. Raises click.UsageError."""
    given = {name for name, value in values.items() if value}
    complaints = {
        "--rate is an open loop and --users a closed one: give one of them": {"rate", "users"} <= given,
        "--arrivals belongs to --rate": "arrivals" in given and not {"rate", "capacity"} & given,
        "--capacity needs --p99 SECONDS, the bound to search for": "capacity" in given and "p99" not in given,
        "--p99 belongs to --capacity": "p99" in given and "capacity" not in given,
        "--capacity is an open loop: leave --users out": {"capacity", "users"} <= given,
        "--master leads and --worker is led: start one of each": {"master", "worker"} <= given,
        "--worker needs --master-host HOST": "worker" in given and "master_host" not in given,
        "--master-host belongs to --worker": "master_host" in given and "worker" not in given,
        "--expect-workers belongs to --master": "expect_workers" in given and "master" not in given,
        "the master says what load there is: leave --rate, --users and --capacity out of --worker": "worker"
        in given
        and bool(given & {"rate", "users", "capacity", "web", "cri_html", "cri_json"}),
        "--master touches no runtime: give --runtime-endpoint and --node to its workers": "master" in given
        and bool(settings.runtime_endpoint or settings.node),
        "--runtime-handler: one at a time is put under load": len(settings.handlers) > 1,
    }
    for complaint, wrong in complaints.items():
        if wrong:
            raise click.UsageError(complaint)
    if values["web"] and not (values["web"].isdigit() and 0 < int(values["web"]) < 1 << 16):
        msg = f"--web {values['web']}: expected a port"
        raise click.UsageError(msg)


def _load_of(values: dict[str, Any]) -> Load:
    rate = values["rate"] or (SEARCH_FROM if values["capacity"] else 0.0)
    users = 0 if rate else values["users"] or DEFAULT_USERS
    return Load(
        mix=Mix(values["mix"]),
        rate=rate,
        arrivals=Arrivals(values["arrivals"] or Arrivals.CONSTANT),
        users=users,
        duration=values["duration"] or (0.0 if values["capacity"] else DEFAULT_DURATION),
        warm_up=values["warm_up"],
        seed=values["seed"],
        in_flight=values["in_flight"] or min(max(200, math.ceil(rate * 5)), 2000),
        pods=values["pods"],
    )


def _run(settings: Settings, values: dict[str, Any]) -> None:
    # imported here: what they need may be missing, which the user has been told by now, and `--help` must not
    # wait for gRPC
    from critests.benchmark.load.display import Display, print_load  # noqa: PLC0415 - see above
    from critests.benchmark.load.front import Role, run_load  # noqa: PLC0415 - see above
    from critests.record.errors import RecordError  # noqa: PLC0415 - see above
    from critests.record.files import write  # noqa: PLC0415 - see above
    from critests.report.benchmark.page import benchmark_to_html  # noqa: PLC0415 - see above
    from critests.report.terminal.console import new_console  # noqa: PLC0415 - see above

    role = Role(
        master=values["master"],
        master_host=values["master_host"] or "",
        master_port=values["master_port"],
        processes=values["processes"],
        expect_workers=values["expect_workers"] or 1,
        web_port=int(values["web"] or 0),
        bound=values["p99"] or 0.0,
    )
    console = new_console()
    display = Display(console)
    try:
        ended = run_load(settings, _load_of(values), role, display.tell, sys.argv[1:])
        display.close()
        if ended.record is None or ended.folder is None:
            console.print("\n".join([ended.outcome.reason, *ended.problems]))
            sys.exit(ended.outcome.exit_code)
        print_load(ended.record, ended.folder.path, console)
        write(ended.record, ended.folder.record)
        if settings.json:
            write(ended.record, settings.json)
        if settings.html:
            settings.html.write_text(benchmark_to_html(ended.record, ended.folder.path), encoding="utf-8")
    except RecordError as error:
        raise NotWritten(str(error)) from error
    finally:
        display.close()
    sys.exit(ended.record.exit_code)
