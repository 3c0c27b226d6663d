"""How the model judges images."""

import pytest

from critests.model import Step
from critests.model.observations import CallResult, ObservedImage
from critests.model.steps import REGISTRY
from tests.model.fake_runtime import IMAGE_ID, TAGS, FakeRuntime, aspects

HERE = ObservedImage(IMAGE_ID, frozenset(TAGS[:1]))


@pytest.fixture
def fake() -> FakeRuntime:
    fake = FakeRuntime(images=[HERE])
    assert fake.run(Step("PullImage", on="image-1", by="tag"), CallResult(id=IMAGE_ID)) == []
    return fake


def test_a_pull_again_has_the_same_reference(fake: FakeRuntime) -> None:
    assert aspects(fake.run(Step("PullImage", on="image-1", by="tag"), CallResult(id="other"))) == [
        "IMG-09/same-ref",
        "IMG-08",
    ]


def test_a_removed_image_is_not_listed(fake: FakeRuntime) -> None:
    removal = Step("RemoveImage", on="image-1", by="tag")

    assert aspects(fake.run(removal)) == ["IMS-25"]
    fake.images.clear()
    assert fake.run(removal) == []


def test_removal_of_an_image_in_use_may_succeed_or_fail(fake: FakeRuntime) -> None:
    fake.add_sandbox()
    fake.add_container()
    fake.world.containers["container-1"].image = "image-1"
    removal = Step("RemoveImage", on="image-1", by="tag")

    assert fake.run(removal, CallResult("FAILED_PRECONDITION")) == []
    assert aspects(fake.run(Step("ImageStatus", on="image-1", by="tag"), CallResult())) == ["IMS-02/found"]
    fake.images.clear()
    assert fake.run(removal) == []
    assert fake.run(Step("ImageStatus", on="image-1", by="tag"), CallResult()) == []


def test_a_tag_that_was_not_pulled_does_not_resolve(fake: FakeRuntime) -> None:
    other = Step("ImageStatus", on="image-1", by="other tag")

    assert fake.run(other, CallResult()) == []
    assert aspects(fake.run(other, CallResult(found=True, id=IMAGE_ID))) == ["IMS-01"]


def test_pulled_second_tag_must_be_listed(fake: FakeRuntime) -> None:
    pull = Step("PullImage", on="image-1", by="other tag")

    assert aspects(fake.run(pull, CallResult(id=IMAGE_ID))) == ["IMG-10"]


def test_a_removal_by_one_name_removes_the_others(fake: FakeRuntime) -> None:
    fake.images[:] = [ObservedImage(IMAGE_ID, frozenset(TAGS))]
    assert fake.run(Step("PullImage", on="image-1", by="other tag"), CallResult(id=IMAGE_ID)) == []
    fake.images[:] = [HERE]
    removal = Step("RemoveImage", on="image-1", by="other tag")

    (left,) = fake.run(removal)

    assert (left.aspect, left.level) == ("IMS-15", "MUST")
    assert fake.run(Step("ImageStatus", on="image-1", by="tag"), CallResult(found=True, id=IMAGE_ID)) == []


def test_an_absent_image_can_be_removed(fake: FakeRuntime) -> None:
    fake.images.clear()
    fake.run(Step("RemoveImage", on="image-1", by="id"))

    assert aspects(fake.run(Step("RemoveImage", on="image-1", by="id"), CallResult("NOT_FOUND"))) == [
        "IMS-16"
    ]


def test_a_reference_other_than_the_id_is_the_same_at_the_next_pull() -> None:
    fake = FakeRuntime(images=[HERE])
    pull, reference = Step("PullImage", on="image-1", by="tag"), CallResult(id="registry/two@sha256:2")

    assert aspects(fake.run(pull, reference)) == ["IMG-08"]
    assert aspects(fake.run(pull, reference)) == ["IMG-08"]


@pytest.fixture
def abandoned() -> FakeRuntime:
    """A pull that hung, and that its client abandoned."""
    fake = FakeRuntime()
    pull = Step("PullImage", on="image-1", by="tag", hanging=REGISTRY)
    assert fake.run(pull, CallResult("DEADLINE_EXCEEDED")) == []
    return fake


def test_an_abandoned_pull_may_complete_or_not(abandoned: FakeRuntime) -> None:
    status = Step("ImageStatus", on="image-1", by="tag")
    assert abandoned.run(status, CallResult()) == []

    abandoned.images[:] = [HERE]
    assert abandoned.run(status, CallResult(found=True, id=IMAGE_ID)) == []
    assert abandoned.run(Step("RemoveImage", on="image-1", by="tag")) == []
    abandoned.images.clear()
    assert abandoned.run(Step("RemoveImage", on="image-1", by="tag")) == []


def test_a_pull_after_an_abandoned_one_succeeds(abandoned: FakeRuntime) -> None:
    again = Step("PullImage", on="image-1", by="tag")

    assert aspects(abandoned.run(again, CallResult("CANCELLED"))) == ["IMG-30"]
    abandoned.images[:] = [HERE]
    assert abandoned.run(again, CallResult(id=IMAGE_ID)) == []
    abandoned.images.clear()
    assert aspects(abandoned.run(Step("ListContainerStats"))) == ["IMS-11/no-filter"]


def test_an_abandoned_pull_by_another_name_may_complete_or_not(fake: FakeRuntime) -> None:
    pull = Step("PullImage", on="image-1", by="other tag", hanging=REGISTRY)
    other = Step("ImageStatus", on="image-1", by="other tag")
    assert fake.run(pull, CallResult("DEADLINE_EXCEEDED")) == []

    assert fake.run(other, CallResult()) == fake.run(other, CallResult(found=True, id=IMAGE_ID)) == []
    fake.images[:] = [ObservedImage(IMAGE_ID, frozenset(TAGS))]
    assert fake.run(other, CallResult(found=True, id=IMAGE_ID)) == []
