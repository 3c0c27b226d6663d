"""Signals while a command of ours runs."""

import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from critests.run.stop_signals import told_to_stop, wait_for


def test_a_command_that_is_waited_for_gets_the_signal_that_ends_a_service() -> None:
    script = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done"
    process = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    before = signal.getsignal(signal.SIGTERM)
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()

    with process.stdout:
        assert wait_for(process) == 7
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.timeout(10)
@pytest.mark.parametrize("step", range(20))
def test_a_signal_is_never_missed_however_close_it_comes_to_the_wait(step: int) -> None:
    steps = itertools.count()

    def stop_at_the_step(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        del frame, event, argument
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGTERM)
        return stop_at_the_step

    with told_to_stop() as wait:
        # where the wait has fewer steps than that
        later = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM))
        later.start()
        sys.settrace(stop_at_the_step)
        try:
            wait()
        finally:
            sys.settrace(None)
        later.join()
