"""`critests-proof`: which tests notice which faults."""

import signal
import sys
from collections import Counter
from pathlib import Path

import click

from critests.cli.pytest_command import VALIDATION, become_pytest
from critests.client.discovery import find
from critests.exit_codes import CannotTest, ExitCode
from critests.run.run_settings import Settings
from critests_proof import proven as reports
from critests_proof.derived import KINDS
from critests_proof.derived.choice import chosen
from critests_proof.language.descriptors import FaultError
from critests_proof.oci_faults import all_faults
from critests_proof.proxy.fault_proxy import run_proxy

SWEEP_DEADLINE_SCALE = 0.5
"""The default: a call without a response takes 5 s."""
_TO_PYTEST = {"ignore_unknown_options": True, "allow_extra_args": True}


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
def group() -> None:
    """Show that the tests of critests turn red when a runtime breaks its promises.

    \b
    Examples:
      critests-proof audit --cri-node containerd -k test_stop
      critests-proof sweep --cri-node containerd --cri-profile full --cri-sweep-sample 100
      critests-proof faults StopContainer
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped


@group.command(context_settings=_TO_PYTEST)
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
def audit(pytest_args: tuple[str, ...]) -> None:
    """Run every test, and once more under each fault that it must notice.

    The faults are in the `.faults.toml` files next to the tests. Arguments go to pytest: -k, -n, --cri-node,
    --cri-select and the other options of critests, and --cri-audit-…
    """
    become_pytest(VALIDATION, Settings(), ["-p", "critests_proof.pytest_audit", "--cri-audit", *pytest_args])


@group.command(context_settings=_TO_PYTEST)
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
def sweep(pytest_args: tuple[str, ...]) -> None:
    """Set each fault derived from the API, and try tests until one notices it.

    Arguments go to pytest: -k, --cri-node, --cri-profile and the other options of critests, and
    --cri-sweep-…
    """
    own = ["-qq", "--no-header", "-p", "critests_proof.pytest_sweep", "--cri-sweep"]
    become_pytest(
        VALIDATION, Settings(), [*own, f"--cri-deadline-scale={SWEEP_DEADLINE_SCALE}", *pytest_args]
    )


@group.command()
@click.argument("what", nargs=-1)
def faults(what: tuple[str, ...]) -> None:
    """List the derived faults: all, or those of a kind, an RPC, a requirement or an id."""
    wanted = chosen(all_faults(), what)
    counts = Counter(fault.kind for fault in wanted)
    for kind, says in KINDS.items():
        if counts[kind]:
            click.echo(f"{kind}: {counts[kind]} ({says})")
            for fault in (fault for fault in wanted if fault.kind == kind):
                breaks = f" [{', '.join(fault.breaks)}]" if fault.breaks else ""
                click.echo(f"  {fault.id}  {fault.says}{breaks}")
            click.echo()
    click.echo(
        f"{len(wanted)} faults: {', '.join(f'{counts[kind]} {kind}' for kind in KINDS if counts[kind])}"
    )


@group.command()
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
    """Run a proxy in front of a runtime that breaks one promise at a time.

    \b
    Each of FAULTS is one line, for example
      "ListPodSandbox.request.filter.state: clear"
      "StopContainer: swallow"
      "ContainerStatus.response.status.exit_code: add 1"
    """  # noqa: D301 - see above
    found = find(runtime_endpoint, None)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    run_proxy(listen, found.endpoint.text, faults, say=click.echo)


@group.command()
@click.argument("files", metavar="REPORT…", nargs=-1, required=True)
def proven(files: tuple[str, ...]) -> None:
    """List the tests that no audit has turned red, from the reports of `--cri-audit-report` on several
    runtimes; exit with 1 if there are any.
    """
    sys.exit(reports.main(files))


def main() -> None:
    """Run the command line; exit with 4 on a usage error."""
    try:
        sys.exit(group.main(prog_name="critests-proof", standalone_mode=False))
    except click.UsageError as error:
        error.show()
        sys.exit(ExitCode.USAGE)
    except (FaultError, OSError) as error:
        click.ClickException(str(error)).show()
        sys.exit(ExitCode.USAGE)
    except CannotTest as error:
        click.ClickException(str(error)).show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(ExitCode.INTERRUPTED)
