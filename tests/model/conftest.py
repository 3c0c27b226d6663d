"""What most tests of the model begin with."""

import pytest

from tests.model.telling import Told


@pytest.fixture
def told() -> Told:
    """A runtime that tells of one sandbox, which is ready."""
    told = Told()
    told.sandbox()
    return told
