"""What the containers of a sequence run, and the commands in them, as scripts of a shell."""

from typing import Final

from critests.model import Step, World
from critests.model.container_rules import printed_by, said_by
from critests.model.steps import (
    EXEC_CODE,
    FAILED,
    INPUT,
    LAST_WORDS,
    LINGER_SECONDS,
    TERMINAL,
    TERMINATED,
    TOLD,
    ContainerProcess,
)

READY_LINE: Final = "ready"
"""What a process that waits writes as soon as its handlers stand."""
ENDS, SPEAKS = "USR1", "USR2"
"""Signals on which it ends by itself, and on which it writes a line."""


def shell(script: str) -> list[str]:
    """Return a script as a command."""
    return ["/bin/sh", "-c", script]


def script_of(step: Step, mark: str, world: World) -> str:
    """Return what a new container runs, with a mark in its command line by which it is found."""
    if ContainerProcess(step.process).brief:
        return _ending(0 if step.process == ContainerProcess.SUCCEEDS else FAILED)
    # the last words at once, so that all of the rest of the time is what it lingers for
    before = f"sleep {LINGER_SECONDS}; " if step.process == ContainerProcess.LINGERS else ""
    handlers = (
        f"trap '{before}{_ending(TERMINATED)}' TERM; trap '{_ending(TOLD)}' {ENDS};"
        f" trap 'echo {said_by(world, step.makes)}' {SPEAKS}"
    )
    # a signal ends the wait; what is waited for it ends only as long as that is a fork of the shell still
    waits = "while :; do if ! kill -0 $! 2>/dev/null; then sleep 100000 & fi; wait $!; done"
    # what is to end the container, or to make it speak, comes to whatever has the mark
    # what runs in the background has no input but what is handed to it under another number
    repeats = f"trap '' TERM {ENDS} {SPEAKS}; while read -r said; do echo \"$said\"; done"
    hears = f"exec 3<&0; ({repeats}) <&3 & "
    listens = hears if step.process == ContainerProcess.LISTENS else ""
    return f"{handlers}; echo {READY_LINE}; : {mark}; {listens}{waits}"


def signalling(mark: str, signal: str) -> str:
    """Return what sends a signal to the process with a mark, from another one in its container."""
    # the brackets keep the search from finding itself
    search = f"grep -l ': {mark[:-1]}[{mark[-1]}]' /proc/[0-9]*/cmdline 2>/dev/null"
    return f"kill -{signal} $({search} | sed 's/[^0-9]//g')"


def command_of(step: Step, world: World) -> str:
    """Return a command whose output and exit code are the container's own."""
    printed = printed_by(world, step).strip()
    # told what to print; or, as what a terminal has not shown at the end may be lost, it ends when told to
    before = {INPUT: 'read -r said; echo "$said"', TERMINAL: f"echo {printed}; read -r said"}
    return f"{before.get(step.by, f'echo {printed}')}; exit {EXEC_CODE}"


def _ending(code: int) -> str:
    return f"echo {LAST_WORDS[code]}; exit {code}"
