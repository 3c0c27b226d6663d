"""Signals while a command of ours runs."""

import os
import signal
import subprocess
import threading

from critests.run.stop_signals import wait_for


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
