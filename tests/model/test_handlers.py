"""How the model judges the runtime handlers."""

from critests.model import Step
from tests.model.fake_runtime import FakeRuntime, aspects

LIST_IMAGES = Step("ListImages")


def test_handlers_must_have_the_same_order_every_time(fake: FakeRuntime) -> None:
    fake.handlers = ("crun", "runc")
    assert fake.run(LIST_IMAGES) == []
    fake.handlers = ("runc", "crun")

    assert aspects(fake.run(LIST_IMAGES)) == ["RT-21/order"]


def test_handlers_may_be_added_and_removed(fake: FakeRuntime) -> None:
    fake.handlers = ("crun", "runc")
    fake.run(LIST_IMAGES)
    fake.handlers = ("kata", "crun")

    assert fake.run(LIST_IMAGES) == []
