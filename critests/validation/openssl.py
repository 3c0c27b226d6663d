"""The program openssl, for tests that need keys, signatures or certificates."""

from collections.abc import Iterator
from contextlib import contextmanager

from critests.node.host.binaries import MissingProgram
from critests.node.host.openssl_program import run_openssl
from critests.testing import blocked


@contextmanager
def needing_openssl() -> Iterator[None]:
    """Block the test on a machine that does not have openssl."""
    try:
        yield
    except MissingProgram as error:
        blocked(str(error))


def openssl(*arguments: str, given: bytes = b"") -> bytes:
    """Run openssl and return its output; block the test on a machine that does not have it.

    Args:
        arguments: of the program.
        given: its input.
    """
    with needing_openssl():
        return run_openssl(*arguments, given=given)
