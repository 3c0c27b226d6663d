"""Packages that one command needs and others do not: the extras of pyproject.toml."""

import importlib.util

from critests.exit_codes import UsageError


def check_installed(*packages: str) -> None:
    """Look for packages, without importing them.

    Args:
        packages: their names, on a package index and in Python alike.

    Raises:
        UsageError: one is missing; the message says how to install it.
    """
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(missing_packages(*missing))


def missing_packages(*missing: str) -> str:
    """Say what to install. Not `critests[extra]`: critests is on no package index."""
    return f"this needs {' and '.join(missing)}: pip install {' '.join(missing)}"
