"""What a vendor's own tests need of critests: its fixtures and markers, and the names that tests import.

In the root `conftest.py` of the tests:

    pytest_plugins = ["critests.testing"]

Nothing else gives a pytest run the fixtures and options of critests, short of `-p critests.plugin`.
"""

import pytest

pytest.register_assert_rewrite("critests.run", "critests.fixtures", "critests.lifecycle")

# ruff: noqa: E402 - what is rewritten must be announced before it is imported
from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.container_fixtures import Containers
from critests.fixtures.image_fixtures import Images, Registry
from critests.fixtures.runtime import Runtime, may_be_refused, must_be_refused
from critests.fixtures.sandbox_fixtures import Sandboxes
from critests.fixtures.unchanged import unchanged
from critests.lifecycle.container import Container
from critests.lifecycle.sandbox import Sandbox
from critests.run.marks import disruptive, requires, slow
from critests.run.outcomes import blocked, unsupported

pytest_plugins = ["critests.plugin"]

__all__ = [
    "Capability",
    "Container",
    "Containers",
    "Images",
    "Registry",
    "Runtime",
    "Sandbox",
    "Sandboxes",
    "blocked",
    "cri",
    "disruptive",
    "may_be_refused",
    "must_be_refused",
    "requires",
    "slow",
    "unchanged",
    "unsupported",
]
