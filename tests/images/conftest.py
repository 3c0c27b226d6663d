from collections.abc import Iterator

import pytest

from critests.images.registry import RegistryServer
from critests.images.registry_client import RegistryClient


@pytest.fixture(scope="package")
def registry() -> Iterator[RegistryServer]:
    with RegistryServer(0) as server:
        yield server


@pytest.fixture
def client(registry: RegistryServer) -> RegistryClient:
    return registry.client()


@pytest.fixture
def repository(request: pytest.FixtureRequest, client: RegistryClient) -> Iterator[str]:
    name = "unit/" + "".join(
        letter if letter.isalnum() else "-" for letter in request.node.name.lower()
    ).strip("-")[:100].strip("-")
    while "--" in name:
        name = name.replace("--", "-")
    yield name
    client.remove_repository(name)
