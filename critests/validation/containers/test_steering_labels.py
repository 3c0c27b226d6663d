"""GEN: image labels that must not control the runtime."""

from critests.api import api_pb2 as cri
from critests.testing import ConditionNotMet, OwnRuntime, disruptive, requirement, slow

WATCHED_SECONDS = 14.0
"""A runtime that acts on such labels checks them every ten seconds."""


@requirement("GEN-20")
@slow
@disruptive
def test_labels_of_an_image_do_not_stop_its_container(own_runtime: OwnRuntime) -> None:
    """Labels of an image MUST NOT stop a container of it, nor remove it from ListContainers.

    Source: not stated by the CRI; the author of an image must not control the node.
    """
    container = own_runtime.container(image=own_runtime.pulled("steering-labels"))

    stopped = True
    try:
        own_runtime.eventually(
            "the container to stop because of its image's labels",
            container.state,
            WATCHED_SECONDS,
            lambda state: state != cri.CONTAINER_RUNNING,
        )
    except ConditionNotMet:
        stopped = False

    assert not stopped
    assert [entry.id for entry in container.entries()] == [container.id]
