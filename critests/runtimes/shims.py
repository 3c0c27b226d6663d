"""Shims: what makes sandboxes with a kernel of their own (gVisor, Kata) brings one, which a daemon starts for
each sandbox in the place of runc's shim or monitor, and of the OCI runtime that these would call.
"""

import json
import re
from pathlib import Path
from typing import Final

_NAME: Final = re.compile(r"containerd-shim-(?P<name>.+)-(?P<version>v[0-9]+)")


GVISOR: Final = "io.containerd.runsc.v1"


def runtime_type(program: Path) -> str | None:
    """Return the type of runtime that a shim is for, such as `io.containerd.runsc.v1`; None for a program
    that is none, as its name says (an OCI runtime).

    Source: how containerd finds the shim of a type of runtime.
    """
    named = _NAME.fullmatch(program.name)
    return f"io.containerd.{named['name']}.{named['version']}" if named else None


def beginning(program: str) -> str | None:
    """Return how the names begin of what a shim starts, such as `runsc`, of which gVisor makes runsc-sandbox
    and runsc-gofer; None for a program that is none.

    Args:
        program: its base name.
    """
    named = _NAME.fullmatch(program)
    return named["name"] if named else None


def configuration(program: Path, state: Path) -> str:
    """Return what a shim has to be told so that it shares no directory with others of the machine; empty for
    one of which nothing of the kind is known.

    Args:
        program: the shim.
        state: directory for what it notes of its sandboxes.

    Source: gVisor's guide to containerd.
    """
    return f"root = {json.dumps(str(state))}\n" if runtime_type(program) == GVISOR else ""
