"""Everything that the kernel reports about a process of a container, in one reading.

A script prints the files of /proc about its own shell, and the output of a test's commands. The container's
first process prints them to its log, a command to its output, so that the views are independent; `of_process`
reads the same files of a process on this machine.
"""

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from critests.lifecycle.mount_points import MountPoint, parse
from critests.lifecycle.process import ProcessStatus, host_processes, stat_of

FILES = ("status", "mountinfo", "limits", "cgroup", "oom_score_adj", "uid_map", "gid_map", "attr/current")
"""Below /proc/<pid>."""
NAMESPACES = "ns"
_BEGIN, _END = "@critests asks ", "@critests answered "
COMPLETE = "@critests has asked all"
"""The last line of the script's output."""


class NotShown(AssertionError):
    """A process did not print an expected part."""


def script(questions: Mapping[str, str]) -> str:
    """Return the script that prints a shell's own evidence.

    Args:
        questions: shell commands, by the name of their output; `$$` is the process. Errors are part of the
            output.
    """
    links = 'for link in /proc/$$/ns/*; do echo "${link##*/} $(readlink "$link")"; done'
    commands = {name: f"cat /proc/$$/{name}" for name in FILES} | {NAMESPACES: links} | dict(questions)
    parts = [
        f"echo {shlex.quote(_BEGIN + name)}; ( {command}\n) 2>&1 </dev/null; printf '\\n{_END}%s\\n' $?"
        for name, command in commands.items()
    ]
    return "\n".join([*parts, f"echo '{COMPLETE}'"])


@dataclass(frozen=True)
class CommandOutput:
    """The output of a command, including errors, and its exit code."""

    text: str
    exit_code: int

    @property
    def lines(self) -> list[str]:
        """Its lines."""
        return self.text.splitlines()


@dataclass(frozen=True)
class ProcessEvidence:
    """The evidence of a process.

    Every property raises `NotShown` if the process did not print that part.

    Attributes:
        answers: output by the names in `FILES`, `NAMESPACES` and the test's own questions.
    """

    answers: dict[str, CommandOutput]

    @classmethod
    def parse(cls, lines: Iterable[str]) -> "ProcessEvidence":
        """Parse the output of the script."""
        answers: dict[str, CommandOutput] = {}
        name, part = "", list[str]()
        for raw in lines:
            line = raw.removesuffix("\r")
            if line.startswith(_BEGIN):
                name, part = line.removeprefix(_BEGIN), []
            elif line.startswith(_END) and name:
                # the line before is empty, or ends output without a newline
                text = "\n".join(part[:-1] if part and not part[-1] else part)
                answers[name], name = CommandOutput(text, int(line.removeprefix(_END))), ""
            else:
                part.append(line)
        return cls(answers)

    def answer(self, name: str) -> str:
        """Return the output of a command that succeeded, without the last newline.

        Raises:
            NotShown: it is missing, or the command failed.
        """
        found = self.answers.get(name)
        if found is None:
            raise NotShown(
                f"the process did not show {name}; it showed {', '.join(self.answers) or 'nothing'}"
            )
        if found.exit_code != 0:
            raise NotShown(f"the process cannot show {name}: {found.text[:200]}")
        return found.text

    def exit_code(self, name: str) -> int:
        """Return the exit code of a command.

        Raises:
            NotShown: its output is missing.
        """
        if name not in self.answers:
            raise NotShown(f"the process did not show {name}")
        return self.answers[name].exit_code

    @property
    def status(self) -> ProcessStatus:
        """Ids, groups, capabilities, no_new_privs, seccomp."""
        return ProcessStatus.parse(self.answer("status"))

    @property
    def mounts(self) -> tuple[MountPoint, ...]:
        """Every mount, in the kernel's order; of several at one place the last is uppermost."""
        return tuple(parse(self.answer("mountinfo")))

    def mount_at(self, place: str) -> MountPoint | None:
        """Return the uppermost mount at exactly this mount point; None if there is none."""
        found = [mount for mount in self.mounts if mount.place == place]
        return found[-1] if found else None

    @property
    def limits(self) -> dict[str, tuple[str, str]]:
        """Soft and hard limit by the kernel's name, such as `Max open files`; numbers, or `unlimited`."""
        lines = [re.split(r"\s{2,}", line.strip()) for line in self.answer("limits").splitlines()[1:]]
        return {name: (soft, hard) for name, soft, hard, *_ in lines}

    @property
    def cgroups(self) -> dict[str, str]:
        """Paths by controller (v1), and of version 2 under the empty name, as this process sees them."""
        found: dict[str, str] = {}
        for line in self.answer("cgroup").splitlines():
            _, controllers, path = line.split(":", 2)
            found |= dict.fromkeys(controllers.split(","), path)
        return found

    @property
    def oom_score_adj(self) -> int:
        """The process's adjustment of its OOM score, -1000 to 1000."""
        return int(self.answer("oom_score_adj"))

    @property
    def uid_map(self) -> list[tuple[int, int, int]]:
        """First uid inside, first uid outside, how many."""
        return _id_map(self.answer("uid_map"))

    @property
    def gid_map(self) -> list[tuple[int, int, int]]:
        """First gid inside, first gid outside, how many."""
        return _id_map(self.answer("gid_map"))

    @property
    def label(self) -> str:
        """The label of the kernel's security module; empty without such a module."""
        found = self.answers.get("attr/current")
        return found.text.rstrip("\0\n") if found and found.exit_code == 0 else ""

    @property
    def has_apparmor_profile(self) -> bool:
        """Whether a profile of AppArmor confines the process, or reports what it does. A distribution may
        give the OCI runtime a profile with the flag `unconfined` (apparmor.d(5)), which its containers
        inherit: `runc (unconfined)`. A label with a type is SELinux's.
        """
        label = self.label
        return not (label in {"", "unconfined"} or label.endswith(" (unconfined)") or "_t:" in label)

    @property
    def namespaces(self) -> dict[str, str]:
        """Identities by kind: `pid` to `pid:[4026531836]`; equal for processes in the same namespace."""
        pairs = (line.partition(" ") for line in self.answer(NAMESPACES).splitlines())
        return {kind: identity for kind, _, identity in pairs}


def of_process(pid: int) -> ProcessEvidence:
    """Return the evidence of a process as this machine sees it; an unreadable file has a non-zero exit
    code.
    """
    folder = Path(f"/proc/{pid}")
    answers = {name: _file(folder / name) for name in FILES}
    try:
        links = {link.name: str(link.readlink()) for link in sorted((folder / "ns").iterdir())}
    except OSError as error:
        answers[NAMESPACES] = CommandOutput(str(error), 1)
    else:
        answers[NAMESPACES] = CommandOutput("\n".join(f"{name} {link}" for name, link in links.items()), 0)
    return ProcessEvidence(answers)


def first_process(mark: str) -> int:
    """Return the process id on this machine of the process with a marker in its command line.

    Raises:
        NotShown: there is none, or there are several that do not descend from one.
    """
    found = host_processes(mark)
    # a child before its exec still has its parent's command line, and may have exited by now
    roots = [pid for pid in found if (stat := stat_of(pid)) and int(stat[1]) not in found]
    if len(roots) != 1:
        raise NotShown(f"{len(roots)} processes of this machine have {mark} in their command lines")
    return roots[0]


def _file(path: Path) -> CommandOutput:
    try:
        return CommandOutput(path.read_text(encoding="utf-8", errors="backslashreplace").rstrip("\n"), 0)
    except OSError as error:
        return CommandOutput(f"{path}: {error.strerror}", 1)


def _id_map(text: str) -> list[tuple[int, int, int]]:
    rows = (tuple(int(number) for number in line.split()) for line in text.splitlines())
    return [(inside, outside, length) for inside, outside, length in rows]
