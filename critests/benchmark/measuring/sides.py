"""The sides of a benchmark: the runtime that the user named, and the other one of a live comparison."""

import contextlib
from collections.abc import Callable, Iterator

from critests.benchmark.measuring.accounting_cgroup import accounted
from critests.benchmark.measuring.resources import snapshot
from critests.benchmark.measuring.runtime_processes import RuntimeHidden
from critests.benchmark.measuring.target import Target
from critests.exit_codes import CannotTest, UsageError
from critests.node.binaries import KINDS
from critests.run.context import RunContext
from critests.run.options import Settings
from critests.run.session import SuiteSession

HANDLER = "handler="


def settings_of_other(settings: Settings, subject: str) -> Settings:
    """Return the options under which the other side is reached: as for the first, but another runtime.

    Args:
        settings: the user's.
        subject: an endpoint, or `containerd`, `containerd=/path`, `crio`, `crio=/path`, or `handler=NAME`.

    Raises:
        UsageError: it is nothing of the kind.
    """
    if subject.startswith(HANDLER):
        return settings.but(runtime_handler=[subject.removeprefix(HANDLER)])
    alone = settings.but(registry_port="", runtime_handler=None, image_endpoint="", runtime_log="")
    if subject.partition("=")[0] in KINDS:
        return alone.but(node=subject, runtime_endpoint="")
    if subject.startswith(("unix:", "tcp:", "/")):
        return alone.but(node="", runtime_endpoint=subject)
    msg = (
        f"--against {subject}: expected an endpoint, {' or '.join(f'{kind}[=PATH]' for kind in KINDS)}, or"
        f" {HANDLER}NAME"
    )
    raise UsageError(msg)


@contextlib.contextmanager
def opened(context: RunContext, session: SuiteSession) -> Iterator[list[Target]]:
    """Open the run's side and, where the user asks for a live comparison, the other one; the other is ended
    here.

    Raises:
        UsageError: the other side is named in no known way.
        CannotTest: the other side cannot be measured, as for the first.
    """
    subject = context.settings.text("--against")
    handler = context.settings.handlers[0]
    with contextlib.ExitStack() as held:
        if not subject:
            targets = [Target.open(context, handler)]
        else:
            settings = settings_of_other(context.settings, subject)
            other = context
            if subject.startswith(HANDLER):
                _refuse_unknown_handler(context, settings.handlers[0])
            else:
                other = RunContext.begin(settings, keep_results=False)
                held.callback(lambda: session.problems.extend(other.end()))
            targets = [Target.open(context, handler, "a"), Target.open(other, settings.handlers[0], "b")]
        for target in targets:
            held.callback(target.close)
        for daemon, run_id in {
            (target.context.daemon_pid, target.context.run.id)
            for target in targets
            if target.context.throwaway
        }:
            if daemon is not None:
                held.enter_context(accounted(daemon, run_id))
        yield targets


def _refuse_unknown_handler(context: RunContext, handler: str) -> None:
    """Say at once that a throwaway runtime has no such handler, and why where that is known.

    Raises:
        CannotTest: it has not.
    """
    own = context.owned.runtime if context.owned is not None else None
    if own is not None and handler not in own.handlers:
        why = own.left_out.get(handler, "")
        known = ", ".join(name or "the default" for name in own.handlers)
        raise CannotTest(f"{HANDLER}{handler}: {why or f'the throwaway runtime has {known} only'}")


def accounts_of(target: Target) -> Callable[[], dict[str, float]]:
    """Begin an account of what a side's runtime uses; what is returned gives the totals so far, and nothing
    where it cannot be seen.
    """
    pid = target.context.daemon_pid
    if pid is None:
        return dict
    try:
        before = snapshot(pid)
    except (OSError, RuntimeHidden):
        return dict

    def used() -> dict[str, float]:
        try:
            spent = snapshot(pid).since(before)
        except (OSError, RuntimeHidden):
            return {}
        return {
            "cpu_seconds": spent.cpu_seconds,
            "daemon_cpu_seconds": spent.daemon_cpu_seconds,
            "read_bytes": float(spent.read_bytes),
            "written_bytes": float(spent.write_bytes),
            "context_switches": float(spent.voluntary + spent.involuntary),
        }

    return used
