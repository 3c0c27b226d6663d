"""The sides of a benchmark: the runtime that the user named, and the second one of a live comparison."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace

from critests.benchmark.measuring.accounting_cgroup import accounted
from critests.benchmark.measuring.resources import snapshot
from critests.benchmark.measuring.runtime_processes import RuntimeNotVisible
from critests.benchmark.measuring.target import Target
from critests.exit_codes import CannotTest, UsageError
from critests.node.starting.targets import (
    EndpointSubject,
    HandlerSubject,
    LiveSubject,
    RunSubject,
    ThrowawaySubject,
    parse_subject,
)
from critests.record.identity import RuntimeIdentity
from critests.run.beginning import begin_run
from critests.run.conclusion import identity_of
from critests.run.context import RunContext
from critests.run.pulled_images import TestImages
from critests.run.run_settings import Settings
from critests.run.runtime_parts import parts_of_throwaway, storage_part


def other_side(settings: Settings) -> LiveSubject | None:
    """Return the runtime that `--against` names; None without the option.

    Raises:
        UsageError: the option does not name a live runtime.
    """
    if not settings.against:
        return None
    subject = parse_subject(settings.against, option="--against")
    if isinstance(subject, RunSubject):
        msg = f"--against {settings.against}: a stored run cannot be measured; use critests compare"
        raise UsageError(msg)
    return subject


def settings_of_other(settings: Settings, subject: LiveSubject) -> Settings:
    """Return the settings of the other side: those of the first, with another runtime."""
    alone = replace(settings, runtime_handler=(), image_endpoint="", runtime_log="")
    match subject:
        case HandlerSubject(handler):
            return replace(settings, runtime_handler=(handler,))
        case ThrowawaySubject():
            return replace(alone, node=str(subject), runtime_endpoint="")
        case EndpointSubject(endpoint):
            return replace(
                alone,
                node="",
                handler_binary=(),
                cgroup_driver="",
                node_setting=(),
                runtime_endpoint=endpoint,
            )


@contextlib.contextmanager
def opened(context: RunContext) -> Iterator[list[Target]]:
    """Open the run's side and, for a live comparison, the other one; the run of the other one ends here.

    Raises:
        UsageError: `--against` does not name a runtime.
        CannotTest: the other side cannot be measured.
    """
    subject = other_side(context.settings)
    handler = context.settings.handlers[0]
    with contextlib.ExitStack() as stack:
        if subject is None:
            targets = [Target.open(context, handler)]
        else:
            settings = settings_of_other(context.settings, subject)
            other = context
            if isinstance(subject, HandlerSubject):
                _check_handler(context, subject)
            else:
                # one registry for both: a runtime is configured for the port of one registry
                other = begin_run(settings, keep_results=False, registry=context.registry)
                stack.callback(lambda: context.notes.extend(other.end()))
            targets = [Target.open(context, handler, "a"), Target.open(other, settings.handlers[0], "b")]
        for target in targets:
            stack.callback(target.close)
        for daemon, run_id in {
            (target.context.daemon_pid, target.context.run.id)
            for target in targets
            if target.context.throwaway
        }:
            if daemon is not None:
                stack.enter_context(accounted(daemon, run_id))
        yield targets


def _check_handler(context: RunContext, subject: HandlerSubject) -> None:
    """Check early that a runtime has a handler, and that the handler works with the daemon.

    Raises:
        CannotTest: it does not; the text gives the reason if it is known.
    """
    own = context.owned.runtime if context.owned is not None else None
    if own is not None and subject.handler not in own.handlers:
        why = own.left_out.get(subject.handler, "")
        known = ", ".join(name or "the default" for name in own.handlers)
        raise CannotTest(f"{subject}: {why or f'the private runtime has only {known}'}")
    connection = context.connect()
    try:
        unfit = context.unfit_handlers(connection, TestImages(connection, context).plain)
    finally:
        connection.close()
    if subject.handler in unfit:
        raise CannotTest(f"{subject}: {unfit[subject.handler]}")


def side_identity(target: Target) -> RuntimeIdentity:
    """Return the identity of a side's runtime, with its handler and its parts."""
    context = target.context
    identity = identity_of(context)
    own = context.owned.runtime if context.owned is not None else None
    parts = (
        parts_of_throwaway(own, target.handler, target.context.settings.node_setting)
        if own is not None
        else storage_part(target.connection)
    )
    return replace(identity, handlers=[target.handler], parts=identity.parts | parts)


def start_accounting(target: Target) -> Callable[[], dict[str, float]]:
    """Start to account for the resources of a side's runtime; the returned function gives the totals so far,
    and an empty mapping if the processes are not visible.
    """
    pid = target.context.daemon_pid
    if pid is None:
        return dict
    try:
        before = snapshot(pid)
    except (OSError, RuntimeNotVisible):
        return dict

    def so_far() -> dict[str, float]:
        try:
            used = snapshot(pid).since(before)
        except (OSError, RuntimeNotVisible):
            return {}
        return {
            "cpu_seconds": used.cpu_seconds,
            "daemon_cpu_seconds": used.daemon_cpu_seconds,
            "read_bytes": float(used.read_bytes),
            "written_bytes": float(used.write_bytes),
            "context_switches": float(used.voluntary + used.involuntary),
        }

    return so_far
