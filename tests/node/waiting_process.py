"""A process that waits for its end, under any name."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.criserver.clients import eventually


@contextlib.contextmanager
def waiting_process(
    name: str,
    *arguments: str,
    **options: Any,  # noqa: ANN401 - those of Popen
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a shell with this name and these arguments, which is killed at the end.

    Popen returns at the exec, a moment before the kernel has set the command line and the environment of the
    new program: on a busy machine both may still be empty.
    """
    with subprocess.Popen(
        [name, "-c", "read line; exit 0", *arguments], executable="/bin/sh", stdin=subprocess.PIPE, **options
    ) as process:
        try:
            eventually(Path(f"/proc/{process.pid}/cmdline").read_bytes, bool)
            yield process
        finally:
            process.kill()
