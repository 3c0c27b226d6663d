"""Runtime handlers as the model of the API has them."""

from critests.model import Step
from tests.model.telling import Told, aspects

LOOKS = Step("ListImages")


def test_handlers_come_in_one_order(told: Told) -> None:
    told.handlers = ("crun", "runc")
    assert told.play(LOOKS) == []
    told.handlers = ("runc", "crun")

    assert aspects(told.play(LOOKS)) == ["RT-21/order"]


def test_handlers_may_come_and_go(told: Told) -> None:
    told.handlers = ("crun", "runc")
    told.play(LOOKS)
    told.handlers = ("kata", "crun")

    assert told.play(LOOKS) == []
