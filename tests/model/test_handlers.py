"""How the model judges the runtime handlers."""

from critests.model import Step
from tests.model.fake_runtime import FakeRuntime, aspects

LIST_IMAGES = Step("ListImages")


def test_handlers_come_in_one_order(fake: FakeRuntime) -> None:
    fake.handlers = ("crun", "runc")
    assert fake.run(LIST_IMAGES) == []
    fake.handlers = ("runc", "crun")

    assert aspects(fake.run(LIST_IMAGES)) == ["RT-21/order"]


def test_handlers_may_come_and_go(fake: FakeRuntime) -> None:
    fake.handlers = ("crun", "runc")
    fake.run(LIST_IMAGES)
    fake.handlers = ("kata", "crun")

    assert fake.run(LIST_IMAGES) == []
