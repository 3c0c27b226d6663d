"""SEC: the program of the OCI runtime, which a container can open when the runtime executes `/proc/self/exe`
for it: at that moment the link resolves to the runtime.
"""

import re

import grpc

from critests.fixtures.shared_containers import WITH_PROGRAMS
from critests.testing import (
    Architecture,
    Capability,
    ConditionNotMet,
    Container,
    Containers,
    Images,
    may_be_refused,
    requirement,
    requires,
    unsupported,
)
from critests.validation.security.contexts import system_call

GET_SEALS, SEALED_AGAINST_WRITING = 1034, 8
"""F_GET_SEALS and F_SEAL_WRITE of fcntl(2). Only a memfd has seals."""
BUSY = 26
"""The error number ETXTBSY, of opening a running program for writing."""
CAUGHT, JUDGED = "caught", "judged"
# AT_FDCWD and O_WRONLY; the descriptor 3 is the program that the script holds open
_ASK = system_call("openat", -100, "/proc/self/fd/3", 1)
_SEALS = f"fcntl '$' {GET_SEALS}"
# paths that the ABI of each architecture fixes
LOADERS = {
    Architecture.AMD64: "/lib64/ld-linux-x86-64.so.2",
    Architecture.ARM64: "/lib/ld-linux-aarch64.so.1",
    Architecture.PPC64LE: "/lib64/ld64.so.2",
    Architecture.RISCV64: "/lib/ld-linux-riscv64-lp64d.so.1",
    Architecture.S390X: "/lib/ld64.so.1",
}
"""The dynamic linker that the kernel starts for a dynamically linked program, by architecture."""
WATCH_SCRIPT = f"""
for loader in {" ".join(LOADERS.values())}; do
  mkdir -p ${{loader%/*}}
  cp /bin/pause $loader
done
watch() {{
  exec 3< $1/exe
  echo {CAUGHT}
  while [ -e $1 ]; do :; done
  for _ in $(seq 100); do
    result=$({_ASK} , {_SEALS})
    case "$result" in *errno={BUSY}*) ;; *) break ;; esac
  done
  echo "$result"
  echo {JUDGED}
}}
while :; do
  for process in /proc/[0-9]*; do
    [ -e $process/exe ] && ! [ $process/exe -ef /proc/1/exe ] && ( watch $process ) && break 2
  done
done
"""
"""Holds the program of the first process that is not the shell open, and opens it for writing once that
process has exited, but writes nothing. A dynamically linked runtime gets a dynamic linker that waits.
"""
JUDGES_THE_TIME_OUT = "EXS-08"
"""The requirement that fails if a command outlives its time-out, so that the program stays in use."""
TRIES = 20
"""A statically linked runtime exits soon, so that one attempt may miss it."""


def can_be_written(lines: list[str]) -> bool:
    """Return whether `WATCH_SCRIPT` could open the program for writing, without a write seal."""
    opened, seals = (int(number) for number in re.findall(r"ret=(-?\d+)", "\n".join(lines)))
    return opened >= 0 and not (seals > 0 and seals & SEALED_AGAINST_WRITING)


def watch_the_runtime(container: Container) -> list[str]:
    """Make a container that runs `WATCH_SCRIPT` execute the OCI runtime, and return the script's output."""
    exec_self = container.exec_request("/proc/self/exe", timeout=1)
    for _ in range(TRIES):
        with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
            container.connection.runtime.ExecSync(exec_self)
        if CAUGHT in container.log_lines():
            break
    else:
        unsupported("no process of the OCI runtime appears in the container's /proc")
    try:
        return container.wait_for_log(JUDGED)
    except ConditionNotMet as error:
        # the script waits for the process to exit, which may be the command with a time-out of 1 s
        error.judge = JUDGES_THE_TIME_OUT
        raise


@requirement("SEC-14")
@requires(Capability.SHARED_KERNEL)
def test_the_runtimes_program_cannot_be_written_from_a_container(
    containers: Containers, images: Images
) -> None:
    """A container that executes the OCI runtime itself SHOULD NOT be able to open its program for writing.

    Source: not stated by the CRI; the runtime would start the next container with the changed program
    (CVE-2019-5736).
    """
    container = containers.running(image=images.pull(WITH_PROGRAMS), first=f"( {WATCH_SCRIPT} ) & :")

    assert not can_be_written(watch_the_runtime(container))
