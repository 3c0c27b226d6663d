"""The command line and environment of the pytest that validates or measures."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from critests.benchmark.measuring.client_process import environment
from critests.process_start import block_stop_signals
from critests.run.run_settings import Settings

VALIDATION: Final = "critests.validation"
BENCHMARK: Final = "critests.benchmark"


def pytest_command(package: str, settings: Settings, more: Iterable[str] = ()) -> list[str]:
    """Return the command that runs a package of the suite.

    Args:
        package: `VALIDATION` or `BENCHMARK`.
        settings: the options of the run.
        more: further arguments of pytest.
    """
    given = [
        f"{option.pytest_name}={words}" if option.metavar else option.pytest_name
        for option, words in settings.given()
    ]
    ini = Path(__file__).parent.parent / package.rpartition(".")[2] / "pytest.ini"
    command = [sys.executable, "-P", "-m", "critests.pytest_process", "-c", str(ini)]
    return [*command, "--pyargs", package, "-p", "critests.plugin", *given, *more]


def pytest_environment(package: str) -> dict[str, str]:
    """Return the environment in which a package of the suite runs."""
    return environment(os.environ) if package == BENCHMARK else dict(os.environ)


def look_for_runtime(settings: Settings) -> None:
    """Check that the runtime's socket accepts connections, before pytest is started.

    Raises:
        EndpointError: no runtime is named or found, or nothing listens there.
    """
    # imported here, as `--help` and `--list` need no runtime
    from critests.client.discovery import find  # noqa: PLC0415 - see above
    from critests.client.socket_check import GREETING_SECONDS, check_listening  # noqa: PLC0415 - see above

    found = find(settings.runtime_endpoint or None, settings.image_endpoint or None)
    for endpoint in dict.fromkeys((found.endpoint, found.image_endpoint)):
        check_listening(endpoint, settings.timeout or GREETING_SECONDS)


def become_pytest(package: str, settings: Settings, more: Iterable[str] = ()) -> None:
    """Replace this process by pytest; does not return.

    It is an exec, not a call, because pytest must import the suite's modules first to rewrite their
    assertions.
    """
    command = pytest_command(package, settings, more)
    sys.stdout.flush()
    block_stop_signals()
    os.execve(command[0], command, pytest_environment(package))  # noqa: S606 - no shell is involved
