"""The conditions under which a run can test: their names, and what each needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from critests.exit_codes import UsageError

CHURN: Final = "churn"
QUESTIONS: Final = "questions"
EVENTS: Final = "events"
SLOW_STEPS: Final = "slow-steps"
FAILING_STEPS: Final = "failing-steps"
RESTARTS: Final = "restarts"
KILLS: Final = "kills"
KILLED_MONITORS: Final = "killed-monitors"
PRESSURE: Final = "pressure"
OTHER_NAMES: Final = "other-names"
USER_NAMESPACES: Final = "user-namespaces"


@dataclass(frozen=True)
class RunCondition:
    """A condition of a run.

    Attributes:
        name: for `--condition`.
        effect: what goes on, for a table.
        starts_runtime: whether the suite must start the runtime to bring the condition about.
        one_process: whether it acts between the calls of the process that runs the tests, so that there can
            be only one.
        wraps_programs: whether it needs wrappers around the OCI runtime, the CNI plugins and the monitors.
        delays_calls: whether calls take so long that the durations that tests assert do not hold.
        ends_connections: whether it ends the connections of the tests.
        reaches_own_runtimes: whether it also holds for the runtimes that single tests start.
        ends_pods: whether pods may be of no use afterwards, so that tests cannot share them.
    """

    name: str
    effect: str
    starts_runtime: bool = False
    one_process: bool = False
    wraps_programs: bool = False
    delays_calls: bool = False
    ends_connections: bool = False
    reaches_own_runtimes: bool = False
    ends_pods: bool = False


CONDITIONS: Final = {
    condition.name: condition
    for condition in (
        RunCondition(CHURN, "another client creates and removes pods with containers"),
        RunCondition(
            QUESTIONS,
            "three clients list everything, and ask for statuses, statistics and metrics",
        ),
        RunCondition(
            EVENTS,
            "clients of GetContainerEvents come and go, and one never reads",
        ),
        RunCondition(
            SLOW_STEPS,
            "each command of OCI runtime, CNI plugins and monitors takes 50 ms longer, one in 20 10 to 15 s",
            starts_runtime=True,
            one_process=True,
            wraps_programs=True,
            delays_calls=True,
        ),
        RunCondition(
            FAILING_STEPS,
            "one in fifty of these commands fails",
            starts_runtime=True,
            one_process=True,
            wraps_programs=True,
        ),
        RunCondition(
            RESTARTS,
            "the daemon is killed and started again between two calls of a test",
            starts_runtime=True,
            ends_connections=True,
            one_process=True,
            delays_calls=True,
        ),
        RunCondition(
            KILLS,
            "the daemon is killed during a call of a test, before it changes a file, and started again",
            starts_runtime=True,
            ends_connections=True,
            one_process=True,
            delays_calls=True,
        ),
        RunCondition(
            KILLED_MONITORS,
            "the shims or monitors of a test's pod are killed before one of its calls",
            starts_runtime=True,
            one_process=True,
            delays_calls=True,
            ends_pods=True,
        ),
        RunCondition(
            PRESSURE,
            "two programs use the processors, and the daemon may open 256 files",
            starts_runtime=True,
            delays_calls=True,
        ),
        RunCondition(
            OTHER_NAMES,
            "names, labels, annotations and tags are long, or have forms that few people use",
            reaches_own_runtimes=True,
        ),
        RunCondition(
            USER_NAMESPACES,
            "pods that may have a user namespace have one, and their mounts are mapped",
            reaches_own_runtimes=True,
        ),
    )
}
"""In the order of tables and of `critests nightly --condition all`."""


def chosen(names: Sequence[str]) -> list[RunCondition]:
    """Return conditions by name.

    Raises:
        UsageError: there is no such condition.
    """
    for name in names:
        if name not in CONDITIONS:
            msg = f"--condition {name}: there is no such condition; there are {', '.join(CONDITIONS)}"
            raise UsageError(msg)
    return [CONDITIONS[name] for name in names]


def check_conditions(names: Sequence[str], *, private: bool, disruptive: bool, read_only: bool) -> None:
    """Check whether a run can have these conditions.

    Args:
        names: of the conditions.
        private: whether the suite starts the runtime.
        disruptive: whether the user allows the suite to disturb the runtime.
        read_only: whether the run changes nothing.

    Raises:
        UsageError: it cannot, or one does not exist.
    """
    conditions = chosen(names)
    if not conditions:
        return
    if read_only:
        msg = "--condition changes what goes on at the runtime, and the run is --read-only"
        raise UsageError(msg)
    if private:
        return
    for condition in conditions:
        if condition.starts_runtime:
            msg = f"--condition {condition.name} is for a runtime that --node starts"
            raise UsageError(msg)
    if not disruptive:
        msg = (
            "--condition is for a runtime that --node starts; with --disruptive,"
            f" {', '.join(each.name for each in CONDITIONS.values() if not each.starts_runtime)} are also for"
            " others"
        )
        raise UsageError(msg)


def refuse_processes(names: Sequence[str]) -> None:
    """Reject conditions that act between two calls of a test, for a run with several processes.

    Raises:
        UsageError: one of them does.
    """
    for condition in chosen(names):
        if condition.one_process:
            msg = f"--condition {condition.name} acts between the calls of one process: run it without -n"
            raise UsageError(msg)
