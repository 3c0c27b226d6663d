"""How the calls of the stubs are recorded."""

import time
from collections.abc import Iterator

from critests.api import api_pb2 as cri
from critests.client.call_recording import RecordedStream, Recorder
from critests.client.hangs import Hangs


def test_a_stream_begins_before_its_request_is_sent() -> None:
    sent: list[float] = []

    def answered(*_: object, **__: object) -> Iterator[cri.StreamContainersResponse]:
        sent.append(time.time())
        # the runtime looks at its containers while the call is being made
        time.sleep(0.02)
        return iter([cri.StreamContainersResponse()])

    recorder = Recorder()
    list(RecordedStream("StreamContainers", answered, recorder, Hangs())(cri.StreamContainersRequest()))

    (call,) = recorder.since(0)
    assert call.started <= sent[0]
    assert call.seconds >= 0.02
