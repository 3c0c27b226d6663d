"""Shims of other runtime types, such as gVisor and Kata, whose sandboxes have their own kernel. The daemon
starts such a shim for each sandbox instead of runc's shim or monitor and the OCI runtime.
"""

import json
import re
from pathlib import Path
from typing import Final

_NAME: Final = re.compile(r"containerd-shim-(?P<name>.+)-(?P<version>v[0-9]+)")


GVISOR: Final = "io.containerd.runsc.v1"


def runtime_type(program: Path) -> str | None:
    """Return the runtime type of a shim by its name, such as `io.containerd.runsc.v1`; None for another
    program, such as an OCI runtime.

    Source: containerd's naming of shim binaries.
    """
    named = _NAME.fullmatch(program.name)
    return f"io.containerd.{named['name']}.{named['version']}" if named else None


def beginning(program: str) -> str | None:
    """Return the prefix of the names of a shim's processes, such as `runsc` for runsc-sandbox and
    runsc-gofer; None for a program that is not a shim.

    Args:
        program: its base name.
    """
    named = _NAME.fullmatch(program)
    return named["name"] if named else None


def configuration(program: Path, state: Path) -> str:
    """Return the configuration with which a shim shares no directory with other instances; empty for shims
    without a known option for that.

    Args:
        program: the shim.
        state: directory for the state of its sandboxes.

    Source: gVisor's guide to containerd.
    """
    return f"root = {json.dumps(str(state))}\n" if runtime_type(program) == GVISOR else ""
