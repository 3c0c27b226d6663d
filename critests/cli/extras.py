"""Packages that only some commands need: the extras of pyproject.toml."""

import importlib.util

from critests.exit_codes import UsageError


def check_installed(*packages: str) -> None:
    """Check that packages are installed, without importing them.

    Args:
        packages: names that are the same for pip and for `import`.

    Raises:
        UsageError: one is missing; the message says how to install it.
    """
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(missing_packages(*missing))


def missing_packages(*missing: str) -> str:
    """Say what to install. Not `critests[extra]`, as critests is on no package index."""
    return f"this command needs {' and '.join(missing)}: pip install {' '.join(missing)}"
