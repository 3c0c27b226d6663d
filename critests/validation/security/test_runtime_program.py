"""SEC: the program of the OCI runtime itself, which a container gets hold of when it is told to run
`/proc/self/exe`: at that moment that is the runtime.
"""

import re
from pathlib import Path

import grpc

from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.images import Images
from critests.fixtures.runtime import may_be_refused
from critests.fixtures.shared_containers import WITH_PROGRAMS
from critests.images.platforms import Architecture, machine_architecture
from critests.lifecycle.containers import Container
from critests.lifecycle.waiting import ConditionNotMet
from critests.run.marks import requirement, requires
from critests.run.outcomes import unsupported
from critests.validation.security.contexts import system_call

GET_SEALS, SEALED_AGAINST_WRITING = 1034, 8
"""fcntl(2): the seals of a file that is only in memory. Any other file has none."""
BUSY = 26
"""The error number of writing a program while somebody else runs it."""
CAUGHT, JUDGED = "caught", "judged"
_ASK = system_call("openat", -100, "/proc/self/fd/3", 1)
_SEALS = f"fcntl '$' {GET_SEALS}"
LOADERS = {
    Architecture.AMD64: "/lib64/ld-linux-x86-64.so.2",
    Architecture.ARM64: "/lib/ld-linux-aarch64.so.1",
}
"""Which program the kernel starts in place of one that is linked dynamically."""
_LOADER = LOADERS[machine_architecture()]
WATCHING = f"""
mkdir -p {Path(_LOADER).parent}
cp /bin/pause {_LOADER}
watched() {{
  exec 3< $1/exe
  echo {CAUGHT}
  while [ -e $1 ]; do :; done
  for _ in $(seq 100); do
    seen=$({_ASK} , {_SEALS})
    case "$seen" in *errno={BUSY}*) ;; *) break ;; esac
  done
  echo "$seen"
  echo {JUDGED}
}}
while :; do
  for process in /proc/[0-9]*; do
    [ -e $process/exe ] && ! [ $process/exe -ef /proc/1/exe ] && ( watched $process ) && break 2
  done
done
"""
"""Holds on to the program of the first process that runs another one than the shell, and once that process is
gone opens it for writing. Nothing is written. A runtime that is linked dynamically finds a loader that waits.
"""
JUDGES_THE_TIME_OUT = "EXS-08"
"""A command that is not ended when its time is over keeps the program in use."""
TRIES = 20
"""A runtime that is linked statically is told nothing to do, and is gone again soon."""


def can_be_written(lines: list[str]) -> bool:
    """Read what `WATCHING` printed: whether the program was opened for writing, and has no seal."""
    opened, seals = (int(number) for number in re.findall(r"ret=(-?\d+)", "\n".join(lines)))
    return opened >= 0 and not (seals > 0 and seals & SEALED_AGAINST_WRITING)


def seen_of_the_runtime(container: Container) -> list[str]:
    """Let a container that is `WATCHING` run the OCI runtime, and return what it printed of it."""
    itself = container.exec_request("/proc/self/exe", timeout=1)
    for _ in range(TRIES):
        with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
            container.connection.runtime.ExecSync(itself)
        if CAUGHT in container.log_lines():
            break
    else:
        unsupported("the container does not get to see the OCI runtime")
    try:
        return container.wait_for_log(JUDGED)
    except ConditionNotMet as error:
        # it is judged when the process is gone, which may be the command that was given a second
        error.judge = JUDGES_THE_TIME_OUT
        raise


@requirement("SEC-14")
@requires(Capability.SHARED_KERNEL)
def test_the_runtimes_program_cannot_be_written_from_a_container(
    containers: Containers, images: Images
) -> None:
    """A container that is made to run the OCI runtime itself SHOULD NOT be able to open its program for
    writing.

    Source: not stated by the CRI; the next container would be started by what was written (CVE-2019-5736).
    """
    container = containers.running(image=images.pull(WITH_PROGRAMS), first=f"( {WATCHING} ) & :")

    assert not can_be_written(seen_of_the_runtime(container))
