"""Whether what the load command needs is installed: found out without importing it."""

import importlib.util

from critests.exit_codes import CannotTest

NEEDED = {"locust": "locust", "hdrh": "hdrhistogram"}
"""Modules, and the packages that hold them."""


class NotInstalled(CannotTest):
    """Something is missing that the command needs; the message says how to install it."""


def check_installed() -> None:
    """Look for what the command needs.

    Raises:
        NotInstalled: some of it is missing.
    """
    missing = [package for module, package in NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        msg = f"critests load needs {' and '.join(missing)}: pip install {' '.join(missing)}"
        raise NotInstalled(msg)
