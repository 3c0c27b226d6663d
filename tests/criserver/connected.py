"""The suite's own connection to a small CRI server, and the builder of its requests."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from critests.client.connection import Connection, connect
from critests.client.endpoint import Endpoint
from critests.lifecycle.cgroup_parents import CgroupDriver, CgroupParents
from critests.lifecycle.requests import ImageName, RequestBuilder, pulling
from critests.lifecycle.run_label import RunIdentity
from tests.criserver.clients import IMAGE
from tests.criserver.server import CriServer, serve

PULLED = ImageName(IMAGE, IMAGE)
"""The image that `connected` pulls on request."""


@contextlib.contextmanager
def connected(
    server: CriServer,
    *,
    pulls: bool = False,
    **options: Any,  # noqa: ANN401 - those of connect
) -> Iterator[Connection]:
    """Serve, and yield a connection to the server; with `pulls`, it has an image."""
    with (
        serve(server) as endpoint,
        contextlib.closing(connect(Endpoint.parse(endpoint), **options)) as connection,
    ):
        if pulls:
            connection.images.PullImage(pulling(IMAGE))
        yield connection


def requests_in(logs: Path, driver: CgroupDriver = CgroupDriver.CGROUPFS) -> RequestBuilder:
    """Return the builder of the requests of a new run."""
    run = RunIdentity.new()
    return RequestBuilder(run, logs, CgroupParents(run, driver))
