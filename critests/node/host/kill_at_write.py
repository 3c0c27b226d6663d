"""Kills a process before one of its system calls that change files, mounts or directories; run as a program.

It traces the threads of the process with ptrace(2), not the programs that it starts. Arguments: the process,
which of these system calls from now on is the last one, and the directories whose files count for `write`.
Standard output gets `ready` when every thread is traced, and then the name of the system call at which the
process is killed. When the tracer itself is killed, the kernel lets the process continue.

Standard library only, and run by its path: it starts before a call of a test.
"""

import ctypes
import errno
import os
import signal
import sys
from collections.abc import Sequence

SEIZE, INTERRUPT, LISTEN, SYSCALL, GET_SYSCALL_INFO = 0x4206, 0x4207, 0x4208, 24, 0x420E
TRACE_CLONE, MARK_SYSTEM_CALLS = 0x8, 0x1
"""Threads that begin later are traced too. Processes are not: they begin by fork or vfork."""
STOP_EVENT = 128
ENTRY = 1
ANY_THREAD = 0x40000000  # __WALL
CHANGES = {
    "x86_64": {
        18: "pwrite64",
        74: "fsync",
        75: "fdatasync",
        76: "truncate",
        77: "ftruncate",
        82: "rename",
        83: "mkdir",
        84: "rmdir",
        86: "link",
        87: "unlink",
        88: "symlink",
        165: "mount",
        166: "umount2",
        258: "mkdirat",
        263: "unlinkat",
        264: "renameat",
        265: "linkat",
        266: "symlinkat",
        316: "renameat2",
    },
    "aarch64": {
        34: "mkdirat",
        35: "unlinkat",
        36: "symlinkat",
        37: "linkat",
        38: "renameat",
        39: "umount2",
        40: "mount",
        45: "truncate",
        46: "ftruncate",
        68: "pwrite64",
        82: "fsync",
        83: "fdatasync",
        276: "renameat2",
    },
}
"""System calls that change files or mounts, by the machine of uname(2)."""
WRITE = {"x86_64": 1, "aarch64": 64}


class SystemCall(ctypes.Structure):
    """Struct ptrace_syscall_info at the entry of a system call."""

    _fields_ = (
        ("op", ctypes.c_uint8),
        ("arch", ctypes.c_uint32),
        ("instruction_pointer", ctypes.c_uint64),
        ("stack_pointer", ctypes.c_uint64),
        ("number", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64 * 6),
    )


_PTRACE = ctypes.CDLL(None, use_errno=True).ptrace
_PTRACE.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_PTRACE.restype = ctypes.c_long


def ptrace(request: int, thread: int, address: int = 0, data: object = 0) -> bool:
    """Return whether a request succeeded; a thread may have ended at any time."""
    return bool(_PTRACE(request, thread, address, data) >= 0)


class Tracer:
    """Traces one process.

    Args:
        process: its id.
        directories: whose files count for `write`.
    """

    def __init__(self, process: int, directories: Sequence[str]) -> None:
        self._process = process
        self._directories = tuple(f"{directory}/" for directory in directories)
        machine = os.uname().machine
        self._changes = CHANGES[machine]
        self._write = WRITE[machine]
        self._logs = {os.stat(f"/proc/{process}/fd/{number}").st_ino for number in (1, 2)}  # noqa: PTH116 - the file behind the link

    def attach(self) -> set[int]:
        """Begin to trace each thread, and return them; each stops soon."""
        seized: set[int] = set()
        while new := {int(thread) for thread in os.listdir(f"/proc/{self._process}/task")} - seized:  # noqa: PTH208 - pathlib takes as long to import as all else
            for thread in new:
                if ptrace(SEIZE, thread, 0, TRACE_CLONE | MARK_SYSTEM_CALLS):
                    ptrace(INTERRUPT, thread)
                elif ctypes.get_errno() == errno.EPERM:
                    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
            seized |= new
        return seized

    def changes_until(self, last: int) -> str:
        """Let the process run until it is about to make the last of these system calls, and kill it; return
        the name of the call, or an empty text if the process ended before.
        """
        starting = self.attach()
        seen = 0
        while True:
            try:
                thread, status = os.waitpid(-1, ANY_THREAD)
            except ChildProcessError:
                return ""
            if thread in starting:
                starting.remove(thread)
                if not starting:
                    _report("ready")
            if not os.WIFSTOPPED(status):
                continue
            number, event = os.WSTOPSIG(status), status >> 16
            delivered, how = 0, SYSCALL
            if number == signal.SIGTRAP | 0x80:
                name = self._change_by(thread)
                seen += bool(name) and not starting
                if seen == last:
                    _report(name)
                    os.kill(self._process, signal.SIGKILL)
                    return name
            elif event == STOP_EVENT:
                how = SYSCALL if number == signal.SIGTRAP else LISTEN
            elif not event:
                delivered = number
            ptrace(how, thread, 0, delivered)

    def _change_by(self, thread: int) -> str:
        """Return the name of the system call that a thread begins; empty for one that changes no file."""
        call = SystemCall()
        ptrace(GET_SYSCALL_INFO, thread, ctypes.sizeof(call), ctypes.addressof(call))
        if call.op != ENTRY:
            return ""
        if call.number != self._write:
            return self._changes.get(call.number, "")
        try:
            path = f"/proc/{self._process}/fd/{call.arguments[0]}"
            file = os.readlink(path)  # noqa: PTH115 - see above
            is_log = os.stat(path).st_ino in self._logs  # noqa: PTH116 - see above
        except OSError:
            return ""
        return "write" if file.startswith(self._directories) and not is_log else ""


def _report(line: str) -> None:
    os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    Tracer(int(sys.argv[1]), sys.argv[3:]).changes_until(int(sys.argv[2]))
