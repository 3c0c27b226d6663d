"""The program openssl, for tests that need keys, signatures or certificates."""

import shutil
import subprocess

from critests.testing import blocked


def openssl(*arguments: str, given: bytes = b"") -> bytes:
    """Run openssl and return its output; block the test on a machine that does not have it.

    Args:
        arguments: of the program.
        given: its input.
    """
    program = shutil.which("openssl")
    if program is None:
        blocked("needs the program openssl; on Debian and Ubuntu: apt install openssl")
    done = subprocess.run([program, *arguments], input=given, check=True, capture_output=True, timeout=60)
    return done.stdout
