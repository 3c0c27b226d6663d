"""A CNI plugin that prints and exits as a test says, operation by operation."""

import contextlib
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from critests.documents.cni_conduct import ADD, VERSION, PluginAnswer
from critests.documents.cni_result import ADDRESS

NAME = "critests-answering"
"""The plugin's file name, which is its type in a configuration."""
_SCRIPT = r"""
cat >"$answers/input"
[ "$CNI_COMMAND" != ADD ] || cp "$answers/input" "$answers/added"
echo "$CNI_COMMAND" >>"$answers/calls"
if [ "$CNI_COMMAND" = ADD ]; then
    # an interface with the address of the valid result, as some runtimes look at it
    nsenter --net="$CNI_NETNS" sh -c '
        ip link add "$CNI_IFNAME" type veth peer name critests0 &&
        ip address add "$0/24" dev "$CNI_IFNAME" && ip link set "$CNI_IFNAME" up' "$address" >/dev/null 2>&1
fi
exit_code=0 repeated=1
[ ! -r "$answers/$CNI_COMMAND.settings" ] || . "$answers/$CNI_COMMAND.settings"
[ ! -r "$answers/$CNI_COMMAND.log" ] || cat "$answers/$CNI_COMMAND.log" >&2
while [ "$repeated" -gt 0 ] && [ -r "$answers/$CNI_COMMAND.output" ]; do
    cat "$answers/$CNI_COMMAND.output"
    repeated=$((repeated - 1))
done
[ "$exit_code" -ge 0 ] || kill "$exit_code" $$
exit "$exit_code"
"""


class AnsweringPlugin:
    """A plugin in the directory of a private runtime's CNI plugins.

    Args:
        plugins: that directory, which must allow execution.
        sound: the answers of a sound plugin, by operation.
    """

    def __init__(self, plugins: Path, sound: Mapping[str, PluginAnswer]) -> None:
        self._answers = plugins.parent / f"{NAME}.answers"
        self._answers.mkdir(exist_ok=True)
        self._sound = {ADD: PluginAnswer(), VERSION: PluginAnswer(), **sound}
        settings = f"answers={shlex.quote(str(self._answers))} address={ADDRESS}"
        program = plugins / NAME
        program.write_text(f"#!/bin/sh\n{settings}\n{_SCRIPT}", encoding="utf-8")
        program.chmod(0o755)
        self.answer({})

    def answer(self, answers: Mapping[str, PluginAnswer]) -> None:
        """Set the answers from now on; those of the sound plugin where there is none."""
        for file in self._answers.iterdir():
            if file.suffix in {".output", ".log", ".settings"}:
                file.unlink()
        for operation, answer in {**self._sound, **answers}.items():
            settings = f"exit_code={answer.exit_code} repeated={answer.repeated}\n"
            if answer.seconds:
                settings += f"sleep {answer.seconds}\n"
            self._write(operation, "settings", settings.encode())
            self._write(operation, "output", answer.output)
            if answer.log:
                self._write(operation, "log", answer.log)

    @contextlib.contextmanager
    def answering(self, answers: Mapping[str, PluginAnswer]) -> Iterator[None]:
        """Set answers within the context; afterwards they are those of the sound plugin."""
        self.answer(answers)
        try:
            yield
        finally:
            self.answer({})

    def calls(self) -> list[str]:
        """Return the operations for which the plugin was called since the last `calls`, in order."""
        file = self._answers / "calls"
        called = file.read_text(encoding="utf-8").split() if file.exists() else []
        file.unlink(missing_ok=True)
        return called

    @property
    def added(self) -> bytes:
        """Return the configuration of the last ADD; empty without one."""
        file = self._answers / "added"
        return file.read_bytes() if file.exists() else b""

    def _write(self, operation: str, part: str, content: bytes) -> None:
        (self._answers / f"{operation}.{part}").write_bytes(content)
