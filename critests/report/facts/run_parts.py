"""What else takes part in a run than the tests: programs, settings, kernel, suite; and what differs between
two runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from critests.record.run_record import RunRecord

DIGEST_LENGTH: Final = 12
"""Characters of a digest, as container engines shorten them."""
CNI_PLUGIN: Final = "CNI plugin"
SEVERAL: Final = frozenset({CNI_PLUGIN, "helper"})
"""Roles of more than one program of a runtime; the file's name distinguishes them."""
CNI_PLUGINS: Final = "CNI plugins"
"""A component that a record with all programs has a second time, without path and digest."""


@dataclass(frozen=True)
class PartDifference:
    """Something that took part in two runs and was not the same in both.

    Attributes:
        name: its role, such as `OCI runtime` or `kernel`.
        before: in the earlier run.
        after: in the later one.
    """

    name: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.name} ({self.before} before, {self.after} now)"


def run_parts(record: RunRecord) -> dict[str, str]:
    """Return what took part in a run by name; what is not recorded is left out."""
    runtime = record.runtime
    found = {}
    for program in runtime.programs:
        several = program.role in SEVERAL
        name = f"{program.role} {PurePath(program.path).name}" if several else program.role
        digest = program.sha256[:DIGEST_LENGTH]
        found[name] = f"{program.path}, {program.version or 'version unknown'}, sha256 {digest or 'unknown'}"
    plugins = any(program.role == CNI_PLUGIN for program in runtime.programs)
    for name, value in runtime.parts.items():
        if name not in found and not (plugins and name == CNI_PLUGINS):
            found[name] = value
    found["handlers"] = ", ".join(handler or "default" for handler in runtime.handlers)
    found["conditions"] = ", ".join(record.conditions.names) or "none"
    found["kernel"] = str(record.machine.get("kernel") or "")
    found["suite"] = f"critests {record.suite_version}, requirements {record.catalogue_revision or 'unknown'}"
    return {name: value for name, value in found.items() if value}


def differing_parts(before: Mapping[str, str], after: Mapping[str, str]) -> list[PartDifference]:
    """Return what both runs have recorded and is not the same in both, in the order of the later one."""
    return [
        PartDifference(name, before[name], value)
        for name, value in after.items()
        if name in before and before[name] != value
    ]
