"""IMG: layers that were made to harm whoever unpacks them."""

from critests.api import api_pb2 as cri
from critests.fixtures.images import Registry
from critests.fixtures.own_runtime import OwnRuntime
from critests.fixtures.runtime import may_be_refused
from critests.lifecycle.requests import pulling
from critests.run.marks import disruptive, requirement

MAP_BYTES = 128 << 20
"""A pull of the suite's own images takes far less memory."""


@requirement("IMG-42")
@disruptive
def test_a_map_of_holes_takes_no_memory(own_runtime: OwnRuntime, registry: Registry) -> None:
    """While a layer is pulled that holds a sparse file whose map of holes has hundreds of megabytes, and
    hundreds of kilobytes when it is packed, the daemon's memory SHOULD NOT grow by as much; the pull may
    succeed or be refused.

    Source: PullImage. Not stated by the CRI; any image could end the daemon.
    """
    hostile = registry.mint(repository="sparse", changes={"sparse_map_bytes": MAP_BYTES})
    # what an ordinary pull takes is not judged
    own_runtime.pulled()
    before = own_runtime.most_memory

    with may_be_refused():
        own_runtime.images.PullImage(pulling(hostile.reference), timeout=60 * own_runtime.scale)

    assert own_runtime.most_memory - before < MAP_BYTES
    own_runtime.stub.Version(cri.VersionRequest())
