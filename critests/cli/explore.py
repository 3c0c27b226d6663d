"""`critests explore`: random sequences of calls, reduced to the shortest that breaks the CRI."""

import contextlib
import secrets
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from critests.cli.extras import check_installed
from critests.cli.option_types import Duration
from critests.cli.run_options import Sectioned, run_options, settings_from
from critests.exit_codes import CannotTest, ExitCode
from critests.node.wrappers.wrapped_programs import WrappedPrograms
from critests.run.run_settings import Settings

if TYPE_CHECKING:  # `--help` must not wait for gRPC
    from critests.client.connection import Connection
    from critests.run.context import RunContext

EPILOG = """\b
Examples:
  critests explore --node containerd --time 5m
  critests explore --runtime-endpoint unix:///run/crio/crio.sock --seed 7 --steps 20

\b
Exits with 1 if a MUST is broken that is not a known failure, else with 0; with --strict, a broken SHOULD
counts too."""
HELP = {
    "--disruptive": "with --node: also restart the daemon, and let its OCI runtime, its CNI plugins or the"
    " registry fail"
}


@dataclass(frozen=True)
class ExplorationPlan:
    """The limits of an exploration: `seconds` in all, `steps` per sequence, concurrent `clients`, and the
    folder of a run to `resume`.
    """

    seconds: float
    steps: int
    clients: int
    resume: Path | None


@click.command(cls=Sectioned, epilog=EPILOG)
@run_options("explore", help_of=HELP)
@click.option(
    "--time",
    "seconds",
    type=Duration(),
    default="5m",
    show_default=True,
    help="how long to explore, e.g. 90s, 5m or 1h",
)
@click.option(
    "--steps", type=click.IntRange(1, 200), default=40, show_default=True, help="maximum steps per sequence"
)
@click.option(
    "--clients",
    type=click.IntRange(1, 3),
    default=1,
    show_default=True,
    help="maximum concurrent calls; with more than one, few findings can be reproduced",
)
@click.option(
    "--resume",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="folder of an earlier exploration: continue it, without reporting its findings again",
)
def explore(**values: Any) -> None:  # noqa: ANN401 - click hands over the options by name
    """Search for sequences of calls that break the CRI, at random.

    After every step, lists and statuses are checked against a model of the API. A sequence that breaks the
    model is reduced, repeated ten times, and written as a test, as a script of crictl calls, and as a log of
    its calls.
    """
    settings = settings_from(values)
    check_installed("explore")
    if settings.disruptive and not settings.node:
        msg = "--disruptive kills the daemon and makes its OCI runtime and CNI plugins fail: pass --node too"
        raise click.UsageError(msg)
    wrapped = WrappedPrograms(oci=settings.disruptive, cni=settings.disruptive)
    settings = replace(settings, wrapped=wrapped)
    plan = ExplorationPlan(**{name: values[name] for name in ("seconds", "steps", "clients", "resume")})
    sys.exit(_explore(settings, plan))


def _explore(settings: Settings, plan: ExplorationPlan) -> ExitCode:
    # imported here: check_installed has reported missing packages by now
    from critests.explore.exploration_output import lines, write_results  # noqa: PLC0415 - see above
    from critests.explore.exploration_state import StoppedExploration, read  # noqa: PLC0415 - see above
    from critests.explore.exploring import Exploration  # noqa: PLC0415 - see above
    from critests.explore.known_findings import known_breaches  # noqa: PLC0415 - see above
    from critests.explore.setting_up import runner_on  # noqa: PLC0415 - see above
    from critests.run.stop_signals import announce_cleanup, handled_by  # noqa: PLC0415 - see above

    seed = secrets.randbelow(1 << 31) if settings.seed is None else settings.seed
    earlier = read(plan.resume) if plan.resume else StoppedExploration(seed)
    with _connected_run(settings) as (context, connection):
        runtime = f"{context.version.runtime_name} {context.version.runtime_version}"
        exploration = Exploration(
            runner_on(context, connection),
            earlier,
            plan.seconds,
            plan.steps,
            known_breaches(context),
            click.echo,
            clients=plan.clients,
        )

        def interrupt(number: int, frame: FrameType | None) -> None:
            exploration.stop()
            announce_cleanup(number, frame)

        with handled_by(interrupt):
            click.echo(f"exploring {runtime} for {plan.seconds:g} s, --seed {earlier.seed}")
            result = exploration.run()
    for line in lines(result):
        click.echo(line)
    for place in write_results(result, context.folder.path, runtime):
        click.echo(f"written: {place}")
    if result.interrupted:
        return ExitCode.INTERRUPTED
    counts = {"MUST", "SHOULD"} if settings.strict else {"MUST"}
    broken = any(finding.breach.level in counts for finding in result.findings)
    return ExitCode.BROKEN if broken else ExitCode.NO_NEW_FAILURE


@contextlib.contextmanager
def _connected_run(settings: Settings) -> Iterator[tuple["RunContext", "Connection"]]:
    """Begin a run and connect to its runtime; at the end, report what could not be removed.

    Raises:
        CannotTest: the runtime is gone, or a step of the set-up failed.
        UsageError: an option makes no sense with this runtime.
    """
    from critests.report.wording.reason_sentences import said  # noqa: PLC0415 - `--help` must not wait
    from critests.run.beginning import begin_run  # noqa: PLC0415 - see above
    from critests.run.outcomes import Blocked, SetUpFailed  # noqa: PLC0415 - see above

    context = begin_run(settings, keep_results=True)
    try:
        if context.gone:
            raise CannotTest(said(context.gone))
        with contextlib.closing(context.connect()) as connection:
            yield context, connection
    except (Blocked, SetUpFailed) as error:
        raise CannotTest(said(error.why)) from error
    finally:
        for problem in context.end():
            click.echo(f"left behind: {problem}", err=True)
