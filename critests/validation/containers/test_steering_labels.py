"""GEN: what an image says about itself, and the runtime."""

from critests.api import api_pb2 as cri
from critests.fixtures.own_runtime import OwnRuntime
from critests.lifecycle.waiting import ConditionNotMet
from critests.run.marks import disruptive, requirement, slow

LOOKED_AT_SECONDS = 14.0
"""A daemon that minds such labels looks every ten seconds."""


@requirement("GEN-20")
@slow
@disruptive
def test_labels_of_an_image_end_no_container(own_runtime: OwnRuntime) -> None:
    """Labels of its image MUST NOT end a container, nor take it off the list, whatever they are called.

    Source: not stated by the CRI; who makes an image is not who runs the node.
    """
    container = own_runtime.container(image=own_runtime.pulled("steering-labels"))

    ended = True
    try:
        own_runtime.eventually(
            "the container to end by its image's labels",
            container.state,
            LOOKED_AT_SECONDS,
            lambda state: state != cri.CONTAINER_RUNNING,
        )
    except ConditionNotMet:
        ended = False

    assert not ended
    assert [entry.id for entry in container.entries()] == [container.id]
