"""Tells Sonobuoy's worker how far a run is: a pytest plugin for the run that `critests sonobuoy` starts.

The worker beside the plugin's container takes POSTs on `http://localhost:$SONOBUOY_PROGRESS_PORT/progress`. A
worker that does not
answer is no reason to stop: the run goes on without it.
"""

import contextlib
import json
import os
import time
import urllib.request
from typing import Final

import pytest

PORT_VARIABLE: Final = "SONOBUOY_PROGRESS_PORT"
EVERY: Final = 5.0
"""Seconds between two messages."""
ANSWER_SECONDS: Final = 2.0
FAILURES: Final = 50
"""Names of failures that are told; the results hold all of them."""


class Reporter:
    """Counts tests and tells the worker.

    Args:
        port: Port of the worker on localhost.
    """

    def __init__(self, port: str) -> None:
        self._address = f"http://localhost:{int(port)}/progress"
        self._total = 0
        self._completed = 0
        self._failures: list[str] = []
        self._told = 0.0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Tell how many tests there are."""
        self._total = len(session.items)
        self._tell("the run begins")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what ended."""
        name = report.nodeid.rpartition("::")[2]
        if report.failed and name not in self._failures:
            self._failures.append(name)
        if report.when == "teardown":
            self._completed += 1
            self._total = max(self._total, self._completed)
            if time.monotonic() - self._told >= EVERY:
                self._tell(f"{self._completed} of {self._total} tests ended")

    def pytest_sessionfinish(self) -> None:
        """Tell the end."""
        self._tell("all tests ended")

    def _tell(self, message: str) -> None:
        self._told = time.monotonic()
        body = {
            "msg": message,
            "total": self._total,
            "completed": self._completed,
            "failures": self._failures[:FAILURES],
        }
        request = urllib.request.Request(  # noqa: S310 - the address is made here, of a number
            self._address,
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
            method="POST",
        )
        with contextlib.suppress(OSError):
            urllib.request.urlopen(request, timeout=ANSWER_SECONDS).close()  # noqa: S310 - as above


def pytest_configure(config: pytest.Config) -> None:
    """Begin to report, once in a run: not in the workers of xdist."""
    port = os.environ.get(PORT_VARIABLE, "")
    if port.isdecimal() and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Reporter(port), "critests sonobuoy progress")
