"""What all unit tests share."""

import signal

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers that leave tests out of `make test`; signals do what they do by default."""
    # under nohup SIGHUP is ignored, in a script's background SIGINT, and so they would be in every process
    # that a test starts
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "runtime: needs root and a containerd on this machine")
    config.addinivalue_line("markers", "nightly(reason): `make test-all` runs it and `make test` does not")
