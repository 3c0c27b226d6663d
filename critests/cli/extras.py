"""Packages that only some commands need: the extras of pyproject.toml."""

import importlib.util
import sys
from collections.abc import Sequence
from typing import Final

from critests.exit_codes import UsageError

EXTRAS: Final = {
    "bench": ("numpy", "scipy"),
    "explore": ("hypothesis",),
    "load": ("locust", "scipy"),
}
"""Extra to its packages, whose names are the same for pip and for `import`."""


def check_installed(extra: str) -> None:
    """Check that the packages of an extra are installed, without importing them.

    Raises:
        UsageError: one is missing; the message says how to install it.
    """
    missing = [name for name in EXTRAS[extra] if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(missing_packages(extra, missing))


def missing_packages(extra: str, missing: Sequence[str] = ()) -> str:
    """Say what to install into this environment: the packages, or critests again with its extra, from where
    it came, as critests is on no package index.

    Args:
        extra: Name of the extra.
        missing: Those of its packages that are missing; all by default.
    """
    packages = missing or EXTRAS[extra]
    return (
        f"this needs {' and '.join(packages)}, the extra {extra!r} of critests:"
        f" {sys.executable} -m pip install {' '.join(packages)}, or the clone or wheel that critests came"
        f" from with the extra, 'PATH[{extra}]'"
    )
