"""Whether what the explore command needs is installed: found out without importing it."""

import importlib.util

from critests.exit_codes import CannotTest


class NotInstalled(CannotTest):
    """Something is missing that the command needs; the message says how to install it."""


def check_installed() -> None:
    """Look for Hypothesis.

    Raises:
        NotInstalled: it is missing.
    """
    if importlib.util.find_spec("hypothesis") is None:
        msg = "critests explore needs hypothesis, which the extra brings: pip install 'critests[explore]'"
        raise NotInstalled(msg)
