"""The faults in what an OCI runtime reads, set in the wrapper that stands before a throwaway runtime's."""

import contextlib
import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from critests.audit.language import oci_document
from critests.audit.language.faults import OciFault
from critests.node.remains import cgroup_hierarchies, remove_cgroups
from critests.node.wrappers.actions import Change, Record
from critests.node.wrappers.stand_in import OciWrapper

ELSEWHERE = "critests-elsewhere"
"""The cgroup, in every hierarchy, that faults move containers to. A runtime makes it, and it is nobody's."""


def remove_elsewhere() -> None:
    """Remove what such faults have left, which is empty once the runtime is gone."""
    remove_cgroups([path / ELSEWHERE for path in cgroup_hierarchies()], seconds=0)


class OciFaults:
    """The faults that are set in one wrapper, and how often they changed something.

    Args:
        wrapper: nothing else may plan for it.
    """

    def __init__(self, wrapper: OciWrapper) -> None:
        self._wrapper = wrapper
        self._faults: tuple[OciFault, ...] = ()
        self._seen = 0

    def set(self, faults: tuple[OciFault, ...]) -> None:
        """Set faults instead of those that were set before, and count anew."""
        self._faults = faults
        self._plan(faults)
        self._seen = self._changed()

    @contextlib.contextmanager
    def honest(self) -> Iterator[None]:
        """Let the OCI runtime read what is right while this block lasts; what was counted so far stays."""
        if not self._faults:
            yield
            return
        self._plan(())
        try:
            yield
        finally:
            self._plan(self._faults)

    def hits(self) -> int:
        """Return how often a document was changed since the faults were set."""
        return self._changed() - self._seen if self._faults else 0

    def _changed(self) -> int:
        return sum(invocation.edits for invocation in self._wrapper.records())

    def _plan(self, faults: tuple[OciFault, ...]) -> None:
        operations = dict.fromkeys(fault.operation for fault in faults)
        self._wrapper.plan(
            {
                operation: [
                    Record(),
                    Change(self._program([fault for fault in faults if fault.operation == operation])),
                ]
                for operation in operations
            }
        )

    def _program(self, faults: list[OciFault]) -> Path:
        """Write the program that makes the changes of some faults: Python without anything that it would
        load at its start.
        """
        folder = self._wrapper.directory
        operation = faults[0].operation
        changes = folder / f"{operation}.changes"
        changes.write_text(json.dumps([fault.change.to_json() for fault in faults]), encoding="utf-8")
        program = folder / f"{operation}.change"
        words = [sys.executable, "-I", "-S", oci_document.__file__, str(changes)]
        program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$1"\n', encoding="utf-8")
        program.chmod(0o755)
        return program
