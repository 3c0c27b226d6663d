"""The error of a wait that ended: the condition and the last value, on one line."""

import pytest

from critests.api import api_pb2 as cri
from critests.lifecycle.waiting import ConditionNotMet, eventually


def test_the_last_value_of_a_wait_is_on_one_line() -> None:
    status = cri.ContainerStatus(id="a", state=cri.CONTAINER_RUNNING)

    with pytest.raises(ConditionNotMet) as found:
        eventually("the end", lambda: status, 0, lambda _: False)

    assert str(found.value) == 'waited 0 s for the end; last seen: id: "a" state: CONTAINER_RUNNING'
