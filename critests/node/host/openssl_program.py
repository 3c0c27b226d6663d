"""The program openssl."""

import subprocess

from critests.node.host.binaries import find_program


def run_openssl(*arguments: str, given: bytes = b"") -> bytes:
    """Run openssl and return its output.

    Args:
        arguments: of the program.
        given: its input.

    Raises:
        MissingProgram: the machine does not have it.
        subprocess.CalledProcessError: it failed.
    """
    command = [str(find_program("openssl")), *arguments]
    return subprocess.run(command, input=given, check=True, capture_output=True, timeout=60).stdout
