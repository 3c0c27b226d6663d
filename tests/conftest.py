"""What all unit tests share."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker by which tests without root leave out the others."""
    config.addinivalue_line("markers", "runtime: needs root and a containerd on this machine")
