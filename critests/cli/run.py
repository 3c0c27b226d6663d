"""`critests run`: validate a runtime."""

from typing import TYPE_CHECKING, Any, Final

import click

from critests.cli.option_types import NameExpression
from critests.cli.pytest_command import VALIDATION, become_pytest, look_for_runtime
from critests.cli.run_options import Sectioned, run_options, settings_from
from critests.conditions.condition_table import CONDITIONS
from critests.exit_codes import CannotTest
from critests.run.profiles import MACHINE, PROFILES, table
from critests.run.run_settings import Settings
from critests.runtimes.private_kinds import node_settings

if TYPE_CHECKING:  # the modules that read tests and requirements are imported for --list and for workers
    from critests.run.collected_tests import CollectedTest

SETTINGS: Final = "\n".join(f"  {name:<18}  {kinds:<16}  {what}" for name, kinds, what in node_settings())
CONDITIONS_TABLE: Final = "\n".join(f"  {each.name:<14}  {each.effect}" for each in CONDITIONS.values())
EPILOG = f"""\b
Profiles, and about how long each takes ({MACHINE}):
{table()}

\b
Node settings, and the kinds that have them:
{SETTINGS}

\b
Conditions:
{CONDITIONS_TABLE}

\b
Examples:
  critests run --node containerd                        start a private containerd, and remove it again
  critests run --node containerd --node-setting ipv6-only --profile smoke
  critests run --node containerd --condition churn --select SBX,CTR
  critests run -n 2 --runtime-handler runc --runtime-handler crun
  critests run --select sandboxes,CTR-21 --deselect SHOULD
  critests run --rerun latest                           run again what was not green in the last run
  critests run --list --select SBX                      print the tests that would run; needs no runtime
  critests run --list --json -                          the same with titles, as JSON

\b
The same with plain pytest:
  pytest -p critests.plugin --pyargs critests.validation --runtime-endpoint unix:///run/containerd/containerd.sock"""

UNUSED: Final = ("-p", "no:allure_pytest", "-p", "no:tmpdir")
"""Plugins that pytest loads: the first does nothing without its own options; the second leaves a directory in
/tmp for the workers, and no test of the suite has anything there.
"""


@click.command(cls=Sectioned, epilog=EPILOG)
@run_options("run", profiles=tuple(PROFILES))
@click.option("-n", "workers", metavar="N", help="run in N processes ('auto' for one per core)")
@click.option(
    "-k",
    "expression",
    type=NameExpression(),
    metavar="EXPRESSION",
    help="only tests whose names match, as in pytest; or the name of a test, test_x[case]",
)
@click.option("-x", "stop_early", is_flag=True, help="stop at the first failure")
@click.option(
    "--list",
    "list_only",
    is_flag=True,
    help="print aspect, level and name of the tests, without running them",
)
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
def run(**values: Any) -> None:  # noqa: ANN401 - click hands over the options by name
    """Validate a CRI runtime and report which requirements it breaks.

    The runtime is found as crictl finds it: --runtime-endpoint, CONTAINER_RUNTIME_ENDPOINT, /etc/crictl.yaml,
    or the only well-known socket that accepts connections. Arguments after `--` are passed to pytest.
    """
    settings = settings_from(values)
    workers, list_only = values["workers"], values["list_only"]
    if workers is not None and workers != "auto" and not workers.isdigit():
        msg = f"-n {workers}: expected a number of processes, or auto"
        raise click.UsageError(msg)
    arguments: list[str] = []
    if not (values["pytest_args"] or values["expression"]) and settings.collects_each_once:
        arguments += ["--cri-index", *UNUSED]
        chosen = _chosen(settings) if list_only or workers else None
        if list_only and chosen:
            from critests.run.listing import print_list  # noqa: PLC0415 - see above

            print_list(chosen, settings)
            return
        if chosen and workers != "auto":
            workers = str(min(int(workers), len(chosen)))
    if workers not in {None, "0", "1"} and not list_only:
        arguments += ["-n", str(workers), "--dist", "loadgroup"]
    if values["expression"]:
        arguments += ["-k", values["expression"]]
    if values["stop_early"]:
        arguments.append("-x")
    arguments += values["pytest_args"]
    arguments.append("--cri-list" if list_only else "--cri-progress")
    if settings.select or settings.deselect:
        from critests.run.selection import check  # noqa: PLC0415 - see above

        check(settings)
    # with arguments for pytest a run may need no runtime, for example with --collect-only
    if not (list_only or settings.node or values["pytest_args"]):
        look_for_runtime(settings)
    become_pytest(VALIDATION, settings, arguments)


def _chosen(settings: Settings) -> "list[CollectedTest] | None":
    """Return the tests that a run would have, or None if only a collection by pytest can list them.

    Raises:
        CannotTest: the run would have no test.
    """
    from critests.run import suite_index  # noqa: PLC0415 - see above
    from critests.run.selection import NOTHING_LEFT, choose  # noqa: PLC0415 - see above

    tests = suite_index.read()
    if tests is None:
        return None
    chosen, _ = choose(tests, settings)
    if not chosen:
        raise CannotTest(NOTHING_LEFT)
    return chosen
