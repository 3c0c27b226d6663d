"""`critests clean`: remove what interrupted runs left behind."""

import click
import grpc

from critests.benchmark.reference.oci_reference import remove_leftover_references
from critests.client.connection import Connection, connect
from critests.client.discovery import find
from critests.client.endpoint import EndpointError
from critests.lifecycle.cgroup_parents import CgroupParents, remove_cgroups_of, runs_with_cgroups
from critests.lifecycle.labelled_removal import remove_run, runs_on
from critests.lifecycle.run_label import RunIdentity
from critests.node.cgroups.cgroup_driver import cgroup_driver
from critests.node.cleanup.runtime_removal import forget_dead_run, reap_dead_runs
from critests.node.observing import oci_probe
from critests.node.run_state.locks import known_runs, run_is_live


@click.command()
@click.option(
    "--runtime-endpoint",
    metavar="ENDPOINT",
    help="also remove pods that interrupted runs left on this runtime (default: found as in `critests run`)",
)
@click.option("--image-endpoint", metavar="ENDPOINT", help="address of the image service, if it differs")
def clean(runtime_endpoint: str | None, image_endpoint: str | None) -> None:
    """Remove what interrupted runs left behind, and nothing else.

    Runs that are still in progress are not touched, nor is anything without a run's label.
    """
    problems: list[str] = []
    for reaped in reap_dead_runs():
        problems += [reaped.left] if reaped.left else []
        click.echo(f"private runtime {reaped.name} of run {reaped.run_id}: {reaped.left or 'removed'}")
    connection = _runtime(runtime_endpoint, image_endpoint)
    if connection is not None:
        try:
            problems += _clean_runtime(connection)
        except grpc.RpcError as error:
            problems.append(f"{connection.endpoint.text}: {error.code().name}: {error.details()}")
            click.echo(problems[-1], err=True)
        finally:
            connection.close()
    problems += _clean_cgroups()
    for run_id, live in known_runs().items():
        if live:
            click.echo(f"run {run_id} is in progress: not touched")
            continue
        if forget_dead_run(run_id):
            click.echo(f"files of run {run_id}: removed")
    if problems:
        msg = "some things could not be removed; see above"
        raise click.ClickException(msg)


def _clean_cgroups() -> list[str]:
    problems: list[str] = []
    for run_id in sorted(run_id for run_id in runs_with_cgroups() if not run_is_live(run_id)):
        problems += remove_leftover_references(run_id)
        left = remove_cgroups_of(RunIdentity(run_id))
        problems += [f"{path} is still in use" for path in left]
        click.echo(f"cgroups of run {run_id}: {'still in use' if left else 'removed'}")
    for cgroup in oci_probe.remove_leftover_references():
        click.echo(f"{cgroup}: removed")
    return problems


def _runtime(runtime_endpoint: str | None, image_endpoint: str | None) -> Connection | None:
    try:
        found = find(runtime_endpoint, image_endpoint)
        connection = connect(found.endpoint, found.image_endpoint)
        connection.greet()
    except EndpointError:
        if runtime_endpoint:
            raise
        click.echo("no runtime found")
        return None
    return connection


def _clean_runtime(connection: Connection) -> list[str]:
    problems: list[str] = []
    for run_id in sorted(runs_on(connection)):
        if run_is_live(run_id):
            click.echo(f"{connection.endpoint.text}: run {run_id} is in progress: not touched")
            continue
        run = RunIdentity(run_id)
        removed = remove_run(connection, run)
        CgroupParents(run, cgroup_driver(connection)).remove()
        problems += removed.problems
        click.echo(f"{connection.endpoint.text}: run {run_id}: {removed}")
        for problem in removed.problems:
            click.echo(f"  {problem}", err=True)
    return problems
