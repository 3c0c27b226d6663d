"""The processes of a sequence's containers, and the commands in them, as shell scripts."""

from typing import Final

from critests.model import Step, World
from critests.model.container_rules import line_of, output_of
from critests.model.steps import (
    EXEC_CODE,
    EXIT_ASKED,
    FAILED,
    INPUT,
    LAST_LINES,
    LINGER_SECONDS,
    TERMINAL,
    TERMINATED,
    ContainerProcess,
)

READY_LINE: Final = "ready"
"""What a process that waits writes as soon as its signal handlers are installed."""
EXITS, WRITES = "USR1", "USR2"
"""Signals at which it exits by itself, and at which it writes a line."""


def shell(script: str) -> list[str]:
    """Return a script as a command."""
    return ["/bin/sh", "-c", script]


def script_of(step: Step, marker: str, world: World) -> str:
    """Return the script of a new container, with a marker in its command line by which it is found."""
    if ContainerProcess(step.process).brief:
        return _ending(0 if step.process == ContainerProcess.SUCCEEDS else FAILED)
    # it lingers before its last line, so that only the exit follows that line
    before = f"sleep {LINGER_SECONDS}; " if step.process == ContainerProcess.LINGERS else ""
    handlers = (
        f"trap '{before}{_ending(TERMINATED)}' TERM; trap '{_ending(EXIT_ASKED)}' {EXITS};"
        f" trap 'echo {line_of(world, step.makes)}' {WRITES}"
    )
    # a signal ends `wait`; it may also end the `sleep` while that is still a fork of the shell
    waits = "while :; do if ! kill -0 $! 2>/dev/null; then sleep 100000 & fi; wait $!; done"
    # the signals reach every process with the marker in its command line, so the subshell ignores them; a
    # background process of a shell has standard input only through another file descriptor
    repeats = f"trap '' TERM {EXITS} {WRITES}; while read -r line; do echo \"$line\"; done"
    listener = f"exec 3<&0; ({repeats}) <&3 & "
    listens = listener if step.process == ContainerProcess.LISTENS else ""
    return f"{handlers}; echo {READY_LINE}; : {marker}; {listens}{waits}"


def signalling(marker: str, signal: str) -> str:
    """Return a script that sends a signal to the process with a marker, from another process in its
    container.
    """
    # the brackets prevent the search from finding itself
    search = f"grep -l ': {marker[:-1]}[{marker[-1]}]' /proc/[0-9]*/cmdline 2>/dev/null"
    return f"kill -{signal} $({search} | sed 's/[^0-9]//g')"


def command_of(step: Step, world: World) -> str:
    """Return a command whose output and exit code are specific to the container."""
    printed = output_of(world, step).strip()
    # with input it prints what it reads; with a terminal it exits after input, because the last output of a
    # terminal may be lost at the exit
    before = {INPUT: 'read -r line; echo "$line"', TERMINAL: f"echo {printed}; read -r line"}
    return f"{before.get(step.by, f'echo {printed}')}; exit {EXEC_CODE}"


def _ending(code: int) -> str:
    return f"echo {LAST_LINES[code]}; exit {code}"
