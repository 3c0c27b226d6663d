"""Finds and kills hanging processes of a wrapper."""

import contextlib
import os
import signal
from collections.abc import Iterable

from critests.lifecycle.process import host_processes, stat_of
from critests.node.wrappers.actions import Delay
from critests.node.wrappers.stand_in import Wrapper

FOR_EVER = Delay(600.0)
"""For an operation that hangs until the test kills it."""


def held(wrapper: Wrapper) -> list[int]:
    """Return the processes that hang in a wrapper by `FOR_EVER`: shells that wait, and then the `sleep` of
    each, which has the same output open.
    """
    ours = host_processes(str(wrapper.directory))
    waiting = {
        int(stat[1]): pid for pid in sleeping(FOR_EVER) if (stat := stat_of(pid)) and int(stat[1]) in ours
    }
    return [*waiting, *waiting.values()]


def let_go(processes: Iterable[int]) -> None:
    """Let the shells that `held` found continue, as if they had only been slow."""
    cut_off({*processes} & {*sleeping(FOR_EVER)})


def sleeping(delay: Delay) -> list[int]:
    """Return the processes that wait for a delay in any wrapper, even if its shell has exited."""
    return list(host_processes(f"sleep {delay.seconds:.6f}"))


def cut_off(processes: Iterable[int]) -> None:
    """Kill processes; those that have exited are skipped."""
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
