"""Images as the model of the API has them."""

import pytest

from critests.model import Step
from critests.model.observations import CallResult, ImageSeen
from critests.model.steps import REGISTRY
from tests.model.telling import IMAGE_ID, TAGS, Told, aspects

HERE = ImageSeen(IMAGE_ID, frozenset(TAGS[:1]))


@pytest.fixture
def told() -> Told:
    told = Told(images=[HERE])
    assert told.play(Step("PullImage", on="image-1", by="tag"), CallResult(id=IMAGE_ID)) == []
    return told


def test_a_pull_again_has_the_same_reference(told: Told) -> None:
    assert aspects(told.play(Step("PullImage", on="image-1", by="tag"), CallResult(id="other"))) == [
        "IMG-09/same-ref",
        "IMG-08",
    ]


def test_a_removal_takes_it_off_the_list(told: Told) -> None:
    removal = Step("RemoveImage", on="image-1", by="tag")

    assert aspects(told.play(removal)) == ["IMS-25"]
    told.images.clear()
    assert told.play(removal) == []


def test_the_removal_of_an_image_in_use_leaves_a_choice(told: Told) -> None:
    told.sandbox()
    told.container()
    told.world.containers["container-1"].image = "image-1"
    removal = Step("RemoveImage", on="image-1", by="tag")

    assert told.play(removal, CallResult("FAILED_PRECONDITION")) == []
    assert aspects(told.play(Step("ImageStatus", on="image-1", by="tag"), CallResult())) == ["IMS-02/found"]
    told.images.clear()
    assert told.play(removal) == []
    assert told.play(Step("ImageStatus", on="image-1", by="tag"), CallResult()) == []


def test_a_tag_that_was_not_pulled_leads_nowhere(told: Told) -> None:
    other = Step("ImageStatus", on="image-1", by="other tag")

    assert told.play(other, CallResult()) == []
    assert aspects(told.play(other, CallResult(found=True, id=IMAGE_ID))) == ["IMS-01"]


def test_a_second_tag_is_a_second_name(told: Told) -> None:
    pull = Step("PullImage", on="image-1", by="other tag")

    assert aspects(told.play(pull, CallResult(id=IMAGE_ID))) == ["IMG-10"]


def test_a_removal_by_one_name_should_take_the_others_along(told: Told) -> None:
    told.images[:] = [ImageSeen(IMAGE_ID, frozenset(TAGS))]
    assert told.play(Step("PullImage", on="image-1", by="other tag"), CallResult(id=IMAGE_ID)) == []
    told.images[:] = [HERE]
    removal = Step("RemoveImage", on="image-1", by="other tag")

    (left,) = told.play(removal)

    assert (left.aspect, left.level) == ("IMS-15", "SHOULD")
    assert told.play(Step("ImageStatus", on="image-1", by="tag"), CallResult(found=True, id=IMAGE_ID)) == []


def test_an_absent_image_can_be_removed(told: Told) -> None:
    told.images.clear()
    told.play(Step("RemoveImage", on="image-1", by="id"))

    assert aspects(told.play(Step("RemoveImage", on="image-1", by="id"), CallResult("NOT_FOUND"))) == [
        "IMS-16"
    ]


def test_a_reference_that_is_no_id_is_the_same_at_the_next_pull() -> None:
    told = Told(images=[HERE])
    pull, reference = Step("PullImage", on="image-1", by="tag"), CallResult(id="registry/two@sha256:2")

    assert aspects(told.play(pull, reference)) == ["IMG-08"]
    assert aspects(told.play(pull, reference)) == ["IMG-08"]


@pytest.fixture
def given_up() -> Told:
    """A pull that hung, and that its client has given up."""
    told = Told()
    pull = Step("PullImage", on="image-1", by="tag", hanging=REGISTRY)
    assert told.play(pull, CallResult("DEADLINE_EXCEEDED")) == []
    return told


def test_a_pull_that_was_given_up_may_come_about_or_not(given_up: Told) -> None:
    status = Step("ImageStatus", on="image-1", by="tag")
    assert given_up.play(status, CallResult()) == []

    given_up.images[:] = [HERE]
    assert given_up.play(status, CallResult(found=True, id=IMAGE_ID)) == []
    assert given_up.play(Step("RemoveImage", on="image-1", by="tag")) == []
    given_up.images.clear()
    assert given_up.play(Step("RemoveImage", on="image-1", by="tag")) == []


def test_after_one_that_was_given_up_a_pull_works(given_up: Told) -> None:
    again = Step("PullImage", on="image-1", by="tag")

    assert aspects(given_up.play(again, CallResult("CANCELLED"))) == ["IMG-30"]
    given_up.images[:] = [HERE]
    assert given_up.play(again, CallResult(id=IMAGE_ID)) == []
    given_up.images.clear()
    assert aspects(given_up.play(Step("ListContainerStats"))) == ["IMS-11/no-filter"]


def test_so_may_another_name_of_an_image_that_is_there(told: Told) -> None:
    pull = Step("PullImage", on="image-1", by="other tag", hanging=REGISTRY)
    other = Step("ImageStatus", on="image-1", by="other tag")
    assert told.play(pull, CallResult("DEADLINE_EXCEEDED")) == []

    assert told.play(other, CallResult()) == told.play(other, CallResult(found=True, id=IMAGE_ID)) == []
    told.images[:] = [ImageSeen(IMAGE_ID, frozenset(TAGS))]
    assert told.play(other, CallResult(found=True, id=IMAGE_ID)) == []
