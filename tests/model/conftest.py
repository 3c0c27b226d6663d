"""A fake runtime with one READY sandbox, with which most tests of the model begin."""

import pytest

from tests.model.fake_runtime import FakeRuntime


@pytest.fixture
def fake() -> FakeRuntime:
    """A fake runtime with one READY sandbox."""
    fake = FakeRuntime()
    fake.add_sandbox()
    return fake
