"""The faults below the runtime, set in the wrappers around the OCI runtime and the CNI plugins of a throwaway
runtime.
"""

import contextlib
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from critests.node.cgroups.cgroup_mounts import cgroup_hierarchies
from critests.node.cleanup.leftovers import remove_cgroups
from critests.node.wrappers.actions import (
    Action,
    ChangeInput,
    ChangeResult,
    Record,
    ReplaceSignal,
    SkipCommand,
)
from critests.node.wrappers.stand_in import Wrapper
from critests_proof.language import oci_document
from critests_proof.language.faults import BelowFault, CommandFault, NetworkFault, OciFault

ELSEWHERE = "critests-elsewhere"
"""The cgroup, in every hierarchy, to which faults move containers. The runtime creates it."""


def remove_elsewhere() -> None:
    """Remove these cgroups, which are empty after the runtime has exited."""
    remove_cgroups([path / ELSEWHERE for path in cgroup_hierarchies()], seconds=0)


class FaultsBelow:
    """The faults of one wrapper, and their hits.

    Args:
        wrapper: no other code may plan actions for it while faults are set.
    """

    def __init__(self, wrapper: Wrapper) -> None:
        self._wrapper = wrapper
        self._faults: tuple[BelowFault, ...] = ()
        self._seen = 0

    def set(self, faults: tuple[BelowFault, ...]) -> None:
        """Replace the faults and reset the hits; without faults, the plans of other code are preserved."""
        if faults or self._faults:
            self._plan(faults)
        self._faults = faults
        self._seen = self._changed()

    @contextlib.contextmanager
    def honest(self) -> Iterator[None]:
        """Disable the faults in this block; the hits so far are preserved."""
        if not self._faults:
            yield
            return
        self._plan(())
        try:
            yield
        finally:
            self._plan(self._faults)

    def hits(self) -> int:
        """Return the number of changes since the faults were set."""
        return self._changed() - self._seen if self._faults else 0

    def _changed(self) -> int:
        return sum(invocation.edits for invocation in self._wrapper.records())

    def _plan(self, faults: tuple[BelowFault, ...]) -> None:
        operations = dict.fromkeys(fault.operation for fault in faults)
        self._wrapper.plan(
            {
                operation: self._actions([fault for fault in faults if fault.operation == operation])
                for operation in operations
            }
        )

    def _actions(self, faults: list[BelowFault]) -> list[Action]:
        actions: list[Action] = [Record()]
        documents = [fault for fault in faults if not isinstance(fault, CommandFault)]
        in_results = [fault for fault in documents if isinstance(fault, NetworkFault) and fault.in_result]
        handed = [fault for fault in documents if fault not in in_results]
        if handed:
            actions.append(ChangeInput(self._program("change", handed)))
        if in_results:
            actions.append(ChangeResult(self._program("rewrite", in_results)))
        for fault in faults:
            if isinstance(fault, CommandFault):
                new = fault.instead
                actions.append(ReplaceSignal(fault.signals, new) if new else SkipCommand(fault.signals))
        return actions

    def _program(self, name: str, faults: Sequence[OciFault | NetworkFault]) -> Path:
        """Write the program that applies the changes of faults: Python in isolated mode, which starts
        fast.
        """
        folder = self._wrapper.directory
        operation = faults[0].operation.replace("/", "-")
        changes = folder / f"{operation}.{name}s"
        changes.write_text(json.dumps([fault.change.to_json() for fault in faults]), encoding="utf-8")
        program = folder / f"{operation}.{name}"
        words = [sys.executable, "-I", "-S", oci_document.__file__, str(changes)]
        program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$1"\n', encoding="utf-8")
        program.chmod(0o755)
        return program
