"""The faults below the runtime, in what an OCI runtime reads, beside those that are derived from the API."""

import functools
from collections.abc import Sequence
from pathlib import Path

from critests.audit.derived import DerivedFault, Reach, derived_faults
from critests.audit.language.faults import OciFault
from critests.audit.matrix import Entry, load

OCI_FAULTS = Path(__file__).with_name("oci.faults.toml")
"""Derived from the specification of OCI runtimes, field by field."""


@functools.cache
def faults_below() -> tuple[DerivedFault, ...]:
    """Return the faults in bundles and in the processes of an exec, in the order of their file."""
    return tuple(_derived(entry) for entry in load(OCI_FAULTS).entries)


def all_faults() -> tuple[DerivedFault, ...]:
    """Return every fault that there is: those of the API, then those below the runtime."""
    return (*derived_faults(), *faults_below())


def through(command: str) -> DerivedFault:
    """Return whatever a command breaks that serves another runtime in front of the real one, as one fault.

    Args:
        command: it, as `detour.py` has it.
    """
    return DerivedFault(
        f"through:{command}",
        "wrapper",
        f"runtime: through {command}",
        f"is what {command} makes of it",
        Reach(""),
    )


def _derived(entry: Entry) -> DerivedFault:
    return DerivedFault(
        entry.id,
        "bundle",
        "\n".join(fault.text for fault in entry.faults),
        f"breaks this: {entry.promise}",
        Reach(_read_at([fault for fault in entry.faults if isinstance(fault, OciFault)]), "response"),
        entry.breaks,
    )


def _read_at(faults: Sequence[OciFault]) -> str:
    """Return the RPC that has the OCI runtime read what faults are in, where it succeeds."""
    if any(fault.change.of == "sandbox" for fault in faults):
        return "RunPodSandbox"
    return "ExecSync" if all(fault.operation == "exec" for fault in faults) else "StartContainer"
