"""What is said of a daemon that ended, and at which request."""

import os
import subprocess
from dataclasses import replace

import pytest
from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.client.call_recording import Call
from critests.record.reasons import Reason, ReasonCode
from critests.run.daemon_watch import DaemonCrash, DaemonWatch, last_log_lines, malformed
from tests.run.test_handover import CONTEXT

ENDED = Reason(code=ReasonCode.RUNTIME_ENDED, where="process 7")
NAMED = cri.PodSandboxConfig(metadata=cri.PodSandboxMetadata(name="a"))


@pytest.mark.parametrize(
    ("request_", "is_malformed"),
    [
        (cri.RunPodSandboxRequest(), True),
        (cri.RunPodSandboxRequest(config=cri.PodSandboxConfig()), True),
        (cri.RunPodSandboxRequest(config=NAMED), False),
        (cri.StopContainerRequest(), True),
        (cri.StopContainerRequest(container_id="a"), False),
        (cri.ListContainersRequest(), False),
        (cri.PullImageRequest(), True),
        (cri.PullImageRequest(image=cri.ImageSpec(image="a")), False),
        (cri.UpdateRuntimeConfigRequest(runtime_config=cri.RuntimeConfig()), False),
        (cri.StatusRequest(), False),
    ],
    ids=lambda value: str(value).strip().replace("\n", " ") or "empty",
)
def test_a_request_that_lacks_what_it_is_about_is_malformed(request_: Message, is_malformed: bool) -> None:
    assert malformed(request_) is is_malformed


def call(rpc: str, request: Message, code: str) -> Call:
    return Call(rpc, request, None, code, "", 0.0, 0.0)


def test_an_end_is_held_against_the_first_call_that_found_nobody() -> None:
    calls = [
        call("Status", cri.StatusRequest(), "OK"),
        call("StopContainer", cri.StopContainerRequest(), "UNAVAILABLE"),
        call("Version", cri.VersionRequest(), "UNAVAILABLE"),
    ]
    log = b"level=info\npanic: nil pointer\n\ngoroutine 1\n"

    crash = DaemonCrash.of(ENDED, calls, log)

    assert crash.aspect == "GEN-06/no-crash"
    assert (crash.why.where, crash.why.subject, crash.why.words) == (
        "process 7",
        "StopContainer",
        "panic: nil pointer",
    )
    assert crash.last_log_lines.startswith("panic: nil pointer")


def test_an_end_at_a_well_formed_request_has_a_requirement_of_its_own() -> None:
    crash = DaemonCrash.of(ENDED, [call("Status", cri.StatusRequest(), "UNAVAILABLE")], b"")

    assert (crash.aspect, crash.why.subject) == ("GEN-17", "Status")


def test_without_a_cry_the_last_lines_are_the_last_words() -> None:
    assert last_log_lines(b"\n".join(b"%d" % number for number in range(100))).splitlines()[-1] == "99"


def test_daemon_that_ended_before_the_first_look_has_ended() -> None:
    process = subprocess.Popen(["true"])
    process.wait()

    end = DaemonWatch(replace(CONTEXT, daemon_pid=process.pid)).ended(suspicious=False)

    assert end is not None
    assert end.where == f"process {process.pid}"


def test_a_daemon_that_a_benchmark_has_restarted_has_not_ended() -> None:
    process = subprocess.Popen(["true"])
    watch = DaemonWatch(replace(CONTEXT, daemon_pid=process.pid))
    process.wait()
    watch.context.daemon_pid = os.getpid()

    assert watch.ended(suspicious=False) is None
