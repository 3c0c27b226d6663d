"""What a command needs beyond what everyone has installed: the extras of the package."""

import importlib.util

from critests.exit_codes import UsageError


def check_installed(extra: str, *modules: str) -> None:
    """Look for modules, without importing them.

    Args:
        extra: Which extra of critests brings them.
        modules: Their names.

    Raises:
        UsageError: one is missing; the message says how to install it.
    """
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        msg = f"this needs {' and '.join(missing)}: pip install 'critests[{extra}]'"
        raise UsageError(msg)
