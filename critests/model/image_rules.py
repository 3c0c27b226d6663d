"""Images: how each RPC may respond whether an image is present or not, and what is true after it.

A reference resolves to an image or to nothing. The API leaves open what happens to an image that containers
still use: its removal may be rejected, or remove its names, or remove the image.
"""

from collections.abc import Iterator

from critests.model.observations import CallResult
from critests.model.steps import Step
from critests.model.success_rules import succeeds
from critests.model.world import Breach, Image, World


def reference(image: Image, by: str) -> str:
    """Return how a step names an image."""
    if by == "id":
        return image.id or image.names[0]
    return image.names[-1] if by == "other tag" else image.names[0]


def resolves(image: Image, by: str) -> frozenset[bool]:
    """Return whether a reference resolves to the image: both values if that is unknown."""
    if by == "id" or image.present != {True}:
        return image.present
    name = reference(image, by)
    return frozenset({name in image.tags, name in image.tags | image.pending})


def pull(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """PullImage: the same image has the same reference at every pull, whatever happened to an earlier one."""
    image = world.images[step.on]
    after_abandoned = "IMG-30", "a pull after one that was given up"
    yield from succeeds(*(after_abandoned if image.pending else ("IMG-01", "a pull")), step, result)
    if not result.ok:
        image.present |= {True}
        if step.hanging:
            image.pending |= {reference(image, step.by)}
        return
    if not result.id:
        yield Breach("IMG-01", "the reference of a pulled image", step.rpc, "one that is not empty", "none")
    elif image.pulled_as and result.id != image.pulled_as:
        yield Breach(
            "IMG-09/same-ref", "the reference of an image pulled again", step.rpc, image.pulled_as, result.id
        )
    image.tags = (image.tags if image.present == {True} else frozenset()) | {reference(image, step.by)}
    image.present = frozenset({True})
    image.id = image.pulled_as = result.id or image.id


def remove(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """RemoveImage: by any of its names removes all names; may be repeated."""
    image = world.images[step.on]
    present = resolves(image, step.by)
    if present == {False}:
        yield from succeeds("IMS-16", "removing an absent image", step, result)
        return
    if world.users_of(step.on):
        image.present |= {False}
        image.tags = frozenset()
        return
    yield from succeeds("IMS-14", "removing an image", step, result)
    if not result.ok:
        image.present |= {False}
    elif present == {True}:
        image.set_present(False)
        image.tags = frozenset()
    elif image.pending:
        # the pending pull may add the name before or after the removal
        image.present |= {False}
        image.tags = frozenset()


def status(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """ImageStatus: an absent image is no error, and has an empty response."""
    image = world.images[step.on]
    present = resolves(image, step.by)
    yield from succeeds(
        "IMS-02/found" if True in present else "IMS-01", "the status of an image", step, result
    )
    if not result.ok or len(present) > 1:
        return
    if present == {True} and not result.found:
        yield Breach("IMS-02/found", f"an image by its {step.by}", step.rpc, "the image", "none")
    elif present == {True} and image.id and result.id != image.id:
        yield Breach("IMS-04", "the id in an image's status", step.rpc, image.id, result.id)
    elif present == {False} and result.found and not (step.by == "tag" and image.entry):
        yield Breach("IMS-01", "an image that is not there", step.rpc, "none", f"the image {result.id}")
