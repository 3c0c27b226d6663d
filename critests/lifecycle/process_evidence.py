"""What a process of a container shows of itself: everything that the kernel says of it, in one reading.

A script prints the files of /proc that speak of the shell that runs it, and the answers to a test's own
questions. The container's first process prints them to its log, a command to its output, so that no view
depends on another; `of_process` reads the same files of a process from this machine.
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
"""The last line of what the script prints."""


class NotShown(AssertionError):
    """A process did not show what was asked for."""


def script(questions: Mapping[str, str]) -> str:
    """Return the script with which a shell shows itself.

    Args:
        questions: commands of the shell by the names of the answers; `$$` is the process that is looked at.
            Their errors are part of the answer.
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
    """What a command printed, errors included, and its exit code."""

    text: str
    exit_code: int

    @property
    def lines(self) -> list[str]:
        """Its lines."""
        return self.text.splitlines()


@dataclass(frozen=True)
class ProcessEvidence:
    """What a process showed of itself.

    Every property raises `NotShown` where the process did not show that part.

    Attributes:
        answers: by the names of `FILES`, `NAMESPACES` and the test's own questions.
    """

    answers: dict[str, CommandOutput]

    @classmethod
    def parse(cls, lines: Iterable[str]) -> "ProcessEvidence":
        """Read what the script of `script` printed."""
        answers: dict[str, CommandOutput] = {}
        name, part = "", list[str]()
        for raw in lines:
            line = raw.removesuffix("\r")
            if line.startswith(_BEGIN):
                name, part = line.removeprefix(_BEGIN), []
            elif line.startswith(_END) and name:
                # the line before is empty, or the newline that the answer lacked
                text = "\n".join(part[:-1] if part and not part[-1] else part)
                answers[name], name = CommandOutput(text, int(line.removeprefix(_END))), ""
            else:
                part.append(line)
        return cls(answers)

    def answer(self, name: str) -> str:
        """Return the answer to a question whose command succeeded, without the last newline.

        Raises:
            NotShown: it was not answered, or its command failed.
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
        """Return the exit code of a question's command.

        Raises:
            NotShown: it was not answered.
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
        """Every mount, in the order in which they were made; of several at one place the last is on top."""
        return tuple(parse(self.answer("mountinfo")))

    def mount_at(self, place: str) -> MountPoint | None:
        """Return the uppermost mount at exactly this place; None where nothing is mounted there."""
        found = [mount for mount in self.mounts if mount.place == place]
        return found[-1] if found else None

    @property
    def limits(self) -> dict[str, tuple[str, str]]:
        """Soft and hard limit by the kernel's name of it: `Max open files`; numbers, or `unlimited`."""
        lines = [re.split(r"\s{2,}", line.strip()) for line in self.answer("limits").splitlines()[1:]]
        return {name: (soft, hard) for name, soft, hard, *_ in lines}

    @property
    def cgroups(self) -> dict[str, str]:
        """Paths by controller (v1), and under the empty name that of version 2, as this process sees them."""
        found: dict[str, str] = {}
        for line in self.answer("cgroup").splitlines():
            _, controllers, path = line.split(":", 2)
            found |= dict.fromkeys(controllers.split(","), path)
        return found

    @property
    def oom_score_adj(self) -> int:
        """What is added to the badness of this process, -1000 to 1000."""
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
        """What the security module of the kernel confines it with; empty where there is no such module."""
        found = self.answers.get("attr/current")
        return found.text.rstrip("\0\n") if found and found.exit_code == 0 else ""

    @property
    def namespaces(self) -> dict[str, str]:
        """Identities by kind: `pid` to `pid:[4026531836]`. Equal for the processes of one namespace."""
        pairs = (line.partition(" ") for line in self.answer(NAMESPACES).splitlines())
        return {kind: identity for kind, _, identity in pairs}


def of_process(pid: int) -> ProcessEvidence:
    """Return what this machine sees of a process; what cannot be read is an answer with an exit code."""
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
    """Return the number on this machine of the process that carries a mark in its command line.

    Raises:
        NotShown: there is none, or there are several that do not descend from one.
    """
    found = host_processes(mark)
    # a child that has not yet become its program still has its parent's command line, and may be gone by now
    roots = [pid for pid in found if (stat := stat_of(pid)) and int(stat[1]) not in found]
    if len(roots) != 1:
        raise NotShown(f"{len(roots)} processes of this machine carry {mark} in their command lines")
    return roots[0]


def _file(path: Path) -> CommandOutput:
    try:
        return CommandOutput(path.read_text(encoding="utf-8", errors="backslashreplace").rstrip("\n"), 0)
    except OSError as error:
        return CommandOutput(f"{path}: {error.strerror}", 1)


def _id_map(text: str) -> list[tuple[int, int, int]]:
    rows = (tuple(int(number) for number in line.split()) for line in text.splitlines())
    return [(inside, outside, length) for inside, outside, length in rows]
