"""IMG: layers that attack the program that unpacks them."""

from critests.api import api_pb2 as cri
from critests.testing import OwnRuntime, Registry, disruptive, may_be_refused, pulling, requirement

MAP_BYTES = 128 << 20
"""The size of the sparse map when unpacked; a pull of the suite's own images takes far less memory."""


@requirement("IMG-42")
@disruptive
def test_the_map_of_a_sparse_file_takes_no_memory(own_runtime: OwnRuntime, registry: Registry) -> None:
    """PullImage SHOULD NOT grow the daemon's memory by the size of a sparse file's map that has 128 MiB
    unpacked and hundreds of kilobytes compressed; the pull may succeed or fail.

    Source: PullImage. Not stated by the CRI; otherwise any image could get the daemon killed for lack of
    memory.
    """
    hostile = registry.mint(repository="sparse", changes={"sparse_map_bytes": MAP_BYTES})
    # the memory that an ordinary pull takes does not count
    own_runtime.pulled()
    before = own_runtime.most_memory

    with may_be_refused():
        own_runtime.images.PullImage(pulling(hostile.reference), timeout=60 * own_runtime.scale)

    assert own_runtime.most_memory - before < MAP_BYTES
    own_runtime.stub.Version(cri.VersionRequest())
