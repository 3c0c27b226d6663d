"""The OCI runtimes of a private runtime's handlers."""

from pathlib import Path
from typing import Final

DEFAULT: Final = "runc"
"""OCI runtime of the default handler."""

OPTIONAL: Final = ("crun",)
"""OCI runtimes that become handlers if they are installed."""

PROGRAMS: Final = (DEFAULT, *OPTIONAL)

SHARED_DIRECTORIES: Final = tuple(Path("/run", program) for program in PROGRAMS)
"""Their default state directories."""
