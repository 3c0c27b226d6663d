"""Images: what each RPC may answer whether an image is there or not, and what is true after it.

A reference leads to an image or to nothing. What becomes of one that containers still use, the API leaves
open: its removal may be refused, or take the names away, or the image.
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


def leads_there(image: Image, by: str) -> frozenset[bool]:
    """Say whether a reference leads to the image: both where nobody knows."""
    if by == "id" or image.present != {True}:
        return image.present
    name = reference(image, by)
    return frozenset({name in image.tags, name in image.tags | image.coming})


def pull(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """PullImage: the same image has the same reference whenever it is pulled, whatever became of a pull
    before.
    """
    image = world.images[step.on]
    given_up = "IMG-30", "a pull after one that was given up"
    yield from succeeds(*(given_up if image.coming else ("IMG-01", "a pull")), step, answer)
    if not answer.ok:
        image.present |= {True}
        if step.hanging:
            image.coming |= {reference(image, step.by)}
        return
    if not answer.id:
        yield Breach("IMG-01", "the reference of a pulled image", step.rpc, "one that is not empty", "none")
    elif image.pulled_as and answer.id != image.pulled_as:
        yield Breach(
            "IMG-09/same-ref", "the reference of an image pulled again", step.rpc, image.pulled_as, answer.id
        )
    image.tags = (image.tags if image.present == {True} else frozenset()) | {reference(image, step.by)}
    image.present = frozenset({True})
    image.id = image.pulled_as = answer.id or image.id


def remove(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """RemoveImage: by whatever name, with all names; may be repeated."""
    image = world.images[step.on]
    there = leads_there(image, step.by)
    if there == {False}:
        yield from succeeds("IMS-16", "removing an absent image", step, answer)
        return
    if world.users_of(step.on):
        image.present |= {False}
        image.tags = frozenset()
        return
    yield from succeeds("IMS-14", "removing an image", step, answer)
    if not answer.ok:
        image.present |= {False}
    elif there == {True}:
        image.is_here(False)
        image.tags = frozenset()
    elif image.coming:
        # the name may not have led there yet, or have come together with its end
        image.present |= {False}
        image.tags = frozenset()


def status(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """ImageStatus: what is not there is no error, and no image either."""
    image = world.images[step.on]
    there = leads_there(image, step.by)
    yield from succeeds("IMS-02/found" if True in there else "IMS-01", "the status of an image", step, answer)
    if not answer.ok or len(there) > 1:
        return
    if there == {True} and not answer.found:
        yield Breach("IMS-02/found", f"an image by its {step.by}", step.rpc, "the image", "none")
    elif there == {True} and image.id and answer.id != image.id:
        yield Breach("IMS-04", "the id in an image's status", step.rpc, image.id, answer.id)
    elif there == {False} and answer.found and not (step.by == "tag" and image.seen):
        yield Breach("IMS-01", "an image that is not there", step.rpc, "none", f"the image {answer.id}")
