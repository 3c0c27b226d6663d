"""The OCI runtimes that a throwaway runtime's handlers are made of."""

from pathlib import Path
from typing import Final

DEFAULT: Final = "runc"
"""The default handler's."""

OPTIONAL: Final = ("crun",)
"""These become handlers where they are installed."""

PROGRAMS: Final = (DEFAULT, *OPTIONAL)

SHARED_DIRECTORIES: Final = tuple(Path("/run", program) for program in PROGRAMS)
"""Where they keep their state unless told otherwise."""
