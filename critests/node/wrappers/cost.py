"""The cost of the wrappers: `python -m critests.node.wrappers.cost` prints it.

Each wrapper runs a program that does nothing, alternately with that program alone; the cost is the difference
of the medians. It is part of all times that are measured through a wrapper, and is not subtracted.
"""

import gc
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from critests.node.host.binaries import find_program
from critests.node.wrappers.actions import ALL, Action, Delay, Edit, Record
from critests.node.wrappers.stand_in import SHELL, CniWrapper, OciWrapper, timer_list_is_usable

CALLS = 50
"""Invocations per median."""

_ARGUMENTS = (
    "--root",
    "/r",
    "--log",
    "/l",
    "--log-format",
    "json",
    "create",
    "--bundle",
    "{bundle}",
    "--pid-file",
    "/p",
    "id",
)
_CONFIG_BYTES = 16384  # about the size of containerd's config.json of a container


@dataclass(frozen=True)
class WrapperOverhead:
    """The time that one wrapper adds to one invocation, in seconds, by planned action."""

    empty: float
    """No action."""
    other: float
    """Actions at other operations only."""
    record: float
    """Recording."""
    delay: float
    """A delay of 0 s: the cost of a delay beyond its length."""
    edit: float
    """One edit (OCI: in 16 KiB; CNI: in a result without the text)."""
    calls: int
    """Number of invocations per median."""


def own_cost(
    kind: str, *, calls: int = CALLS, directory: Path | None = None, shell: str = SHELL
) -> WrapperOverhead:
    """Measure the cost of a wrapper on this machine.

    Args:
        kind: `oci` or `cni`.
        calls: number of invocations per median.
        directory: for the temporary wrappers, on a file system that allows execution; None for the default
            temporary directory.
        shell: runs the scripts.

    Raises:
        PermissionError: programs cannot be executed in the directory.
    """
    true = find_program("true")
    plans: dict[str, Mapping[str, Sequence[Action]]] = {
        "empty": {},
        "other": {"other": [Record()], "another": [Delay(1)]},
        "record": {ALL: [Record()]},
        "delay": {ALL: [Delay(0)]},
        "edit": {ALL: [Edit("text", "text")]},
    }
    with tempfile.TemporaryDirectory(dir=directory, prefix="critests-") as name:
        place = Path(name)
        commands = {"bare": [str(true)]}
        (place / "config.json").write_text("{%s text}" % (" " * _CONFIG_BYTES), encoding="utf-8")
        arguments = [argument.format(bundle=place) for argument in _ARGUMENTS] if kind == "oci" else []
        for plan, actions in plans.items():
            path = _write_wrapper(kind, place / plan, true, actions, shell)
            commands[plan] = [str(path), *arguments]
        medians = _medians(list(commands.values()), calls)
    bare, *others = medians
    empty, other, record, delay, edit = (median - bare for median in others)
    return WrapperOverhead(empty, other, record, delay, edit, calls)


def main() -> None:
    """Print the cost of both wrappers in milliseconds; the first argument may be another shell."""
    shell = " ".join(sys.argv[1:]) or SHELL
    clock = "/proc/timer_list" if timer_list_is_usable() else "the suite's program"
    print(f"cost of a wrapper per invocation, in ms (run by {shell}, time from {clock}, {CALLS} calls each)")
    for kind in ("oci", "cni"):
        cost = own_cost(kind, shell=shell)
        costs = {name: getattr(cost, name) for name in ("empty", "other", "record", "delay", "edit")}
        print(f"{kind}: " + ", ".join(f"{name} {seconds * 1e3:.2f}" for name, seconds in costs.items()))


def _write_wrapper(
    kind: str, directory: Path, true: Path, actions: Mapping[str, Sequence[Action]], shell: str
) -> Path:
    if kind == "oci":
        oci = OciWrapper(directory / "wrapper", true, shell=shell)
        oci.plan(actions)
        return oci.path
    plugins = directory / "plugins"
    plugins.mkdir(parents=True)
    (plugins / true.name).symlink_to(true)
    cni = CniWrapper(directory / "wrapper", plugins, shell=shell)
    cni.plan(actions)
    return cni.plugins / true.name


def _medians(commands: Sequence[Sequence[str]], calls: int) -> list[float]:
    """Run the commands in turn; return the median of the seconds of each."""
    seconds: list[list[float]] = [[] for _ in commands]
    environment = {**os.environ, "CNI_COMMAND": "ADD", "CNI_CONTAINERID": "id"}
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(calls):
            for command, samples in zip(commands, seconds, strict=True):
                begin = time.perf_counter()
                pid = os.posix_spawn(command[0], list(command), environment, file_actions=silent)
                os.waitpid(pid, 0)
                samples.append(time.perf_counter() - begin)
    finally:
        if collecting:
            gc.enable()
    return [statistics.median(samples) for samples in seconds]


if __name__ == "__main__":
    main()
