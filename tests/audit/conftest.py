"""What the unit tests of the audit share."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "runtime: needs root and starts a containerd of its own")
