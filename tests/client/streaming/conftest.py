import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "runtime: needs root and a containerd")
