"""`critests doctor`: what can be tested here, what is missing, and how to get it."""

import sys
from typing import Any

import click
import grpc
from rich.console import Console
from rich.table import Table
from rich.text import Text

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.cli.run_options import Sectioned, run_options, settings_from
from critests.client import Connection
from critests.exit_codes import CannotTest, ExitCode
from critests.lifecycle.run_label import RUN_LABEL
from critests.node.cgroups import cgroup_facts
from critests.node.kubelet import live_kubelet
from critests.node.listeners import binary_of_process
from critests.node.machine import fingerprint
from critests.node.privileges import process_capabilities
from critests.record.run import CapabilityFact
from critests.report.terminal.console import new_console
from critests.run.context import RunContext
from critests.run.outcomes import Blocked, SetUpFailed
from critests.run.pulled_images import TestImages


@click.command(cls=Sectioned)
@run_options("doctor")
def doctor(**values: Any) -> None:  # noqa: ANN401 - click hands over the options by name
    """Say what can be tested here, what is missing, and how to get it.

    Makes a pod, a container and an image of its own and removes them again; with --read-only it only looks.
    Ends with 0 if a run could begin and with 5 if not.
    """
    settings = settings_from(values)
    out = new_console()
    try:
        context = RunContext.begin(settings, keep_results=False)
    except CannotTest as error:
        _title(out, "Runtime")
        out.print(Text.assemble(("  cannot be tested: ", "bold red"), str(error)))
        _machine(out)
        sys.exit(error.exit_code)
    try:
        connection = context.connect()
        try:
            ready = _examine(out, context, connection)
        finally:
            connection.close()
    finally:
        problems = context.end()
    for problem in problems:
        out.print(Text(f"left behind: {problem}", style="yellow"))
    sys.exit(ExitCode.CONFORMS if ready else ExitCode.NOT_TESTED)


def _examine(out: Console, context: RunContext, connection: Connection) -> bool:
    _runtime(out, context, connection)
    images = TestImages(connection, context)
    pulled = _images(out, context, images)
    matrix = context.matrix(connection, context.settings.handlers[0], images.pull if pulled else None)
    facts = matrix.probe_all()
    if not pulled:
        facts = [fact for fact in facts if fact.evidence != "there is no probe for it"]
    _capabilities(out, facts)
    _machine(out)
    if not pulled:
        out.print(Text("\nOnly what needs no image can be tested.", style="yellow"))
    else:
        out.print(Text("\nReady: critests run with the same options.", style="green"))
    return True


def _runtime(out: Console, context: RunContext, connection: Connection) -> None:
    _title(out, "Runtime")
    version = context.version
    rows = [
        ("endpoint", f"{context.endpoint.text}, from {context.found_by}"),
        (
            "image endpoint",
            context.image_endpoint.text if context.image_endpoint != context.endpoint else "the same",
        ),
        ("version", f"{version.runtime_name} {version.runtime_version}, CRI {version.runtime_api_version}"),
        ("API level", f"proven up to {context.level} ({context.level.evidence}); --api-level says more"),
        ("cgroup driver", context.driver.value),
    ]
    if context.daemon_pid:
        daemon = binary_of_process(context.daemon_pid)
        held = {name.removeprefix("CAP_") for name in process_capabilities(context.daemon_pid).permitted}
        lacking = sorted({"SYS_ADMIN", "SYS_RESOURCE", "NET_ADMIN", "SYS_PTRACE", "MKNOD"} - held)
        rows.append(("daemon", f"pid {context.daemon_pid}, {daemon.binary or 'binary not visible'}"))
        rows.append(
            (
                "its privileges",
                f"{len(held)} capabilities{', without ' + ', '.join(lacking) if lacking else ''}",
            )
        )
    status = connection.runtime.Status(cri.StatusRequest())
    for condition in status.status.conditions:
        words = f" ({condition.reason}: {condition.message})" if condition.reason or condition.message else ""
        rows.append((condition.type, f"{str(condition.status).lower()}{words}"))
    rows.append(
        (
            "handlers",
            ", ".join(handler.name or "(default)" for handler in status.runtime_handlers)
            or "Status lists none",
        )
    )
    pods = connection.runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items
    foreign = sum(RUN_LABEL not in pod.labels for pod in pods)
    signs = live_kubelet(context.endpoint.text, [dict(pod.labels) for pod in pods])
    rows.append(("kubelet", "; ".join(sign.evidence for sign in signs) or "none is at work on this endpoint"))
    rows.append(("other pods", str(foreign)))
    _rows(out, rows)


def _images(out: Console, context: RunContext, images: TestImages) -> bool:
    _title(out, "Images")
    where = context.settings.image_prefix or (context.registry.address if context.registry else "")
    if not where:
        _rows(out, [("source", "none: the run is --read-only")])
        return False
    try:
        image = images.pull()
    except (Blocked, SetUpFailed, grpc.RpcError) as error:
        _rows(out, [("source", where), ("pull", f"does not work: {error}")])
        return False
    _rows(out, [("source", where), ("pull", f"works: {image.written}")])
    return True


def _capabilities(out: Console, facts: list[CapabilityFact]) -> None:
    _title(out, "Capabilities")
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    marks = {True: ("yes", "green"), False: ("no", "yellow"), None: ("?", "dim")}
    for fact in facts:
        word, style = marks[fact.present]
        table.add_row(
            Text(f"  {word}", style=style),
            Text(Capability(fact.name).value),
            Text(fact.evidence, style="dim"),
        )
    out.print(table)


def _machine(out: Console) -> None:
    _title(out, "This machine")
    facts, cgroups, own = fingerprint(), cgroup_facts(), process_capabilities()
    rows = [
        (str(name).replace("_", " "), _shown(value))
        for name, value in facts.items()
        if value not in ("", None, [], {})
    ]
    rows.append(("cgroups", f"version {cgroups.version}: {', '.join(cgroups.controllers)}"))
    rows.append(("this process", f"{len(own.permitted)} capabilities"))
    _rows(out, rows)


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {inner}" for name, inner in value.items() if inner not in ("", None))
    if isinstance(value, list | tuple):
        return ", ".join(str(inner) for inner in value)
    return str(value)


def _title(out: Console, text: str) -> None:
    out.print(Text(f"\n{text}", style="bold"))


def _rows(out: Console, rows: list[tuple[str, str]]) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(f"  {name}"), Text(value))
    out.print(table)
