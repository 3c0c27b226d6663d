"""SBX: sandboxes of which two steps fail, and sandboxes whose end cannot be handled at first."""

import os
import signal
from collections.abc import Mapping, Sequence

import pytest

from critests.api import api_pb2 as cri
from critests.node.wrappers.actions import LATE_FAILURE, Action
from critests.testing import (
    Capability,
    Fail,
    FaultyRuntime,
    Record,
    disruptive,
    must_be_refused,
    process_of_sandbox,
    requirement,
    requires,
)

pytestmark = disruptive

Plan = Mapping[str, Sequence[Action]]
FAILING = [Fail(1, "the OCI runtime fails")]
PLUGIN_FAILING = [Fail(101, "the plugin fails")]
NO_NETWORK: Plan = {"portmap/ADD": PLUGIN_FAILING, "DEL": PLUGIN_FAILING}
END_SECONDS = 30.0
"""For a daemon that waits before it handles an end again."""


@pytest.mark.parametrize(
    ("oci", "cni"),
    [
        pytest.param(
            {}, NO_NETWORK, marks=requires(Capability.POD_NETWORK), id="network set-up and tear-down"
        ),
        pytest.param(
            {"create": FAILING},
            {"DEL": PLUGIN_FAILING},
            marks=requires(Capability.POD_NETWORK, Capability.SANDBOX_PROCESS),
            id="process and network tear-down",
        ),
        pytest.param(
            {"create": [LATE_FAILURE], "delete": FAILING},
            {},
            marks=requires(Capability.SANDBOX_PROCESS),
            id="process and its deletion",
        ),
    ],
)
@requirement("SBX-41")
def test_remains_of_a_sandbox_are_reported_as_requested(
    faulty_runtime: FaultyRuntime, oci: Plan, cni: Plan
) -> None:
    """A sandbox that is listed after RunPodSandbox and its clean-up failed MUST be NOTREADY with metadata,
    labels and annotations of the request, before and after a restart of the daemon, and removable.

    Source: PodSandbox.metadata, labels and annotations. Not stated by the CRI for a failed RunPodSandbox; the
    kubelet assigns what is listed to its pods by them.
    """
    runtime, config = faulty_runtime.runtime, faulty_runtime.runtime.sandboxes.marked_config()
    config.annotations["critests.example/note"] = "retained"
    expected = (cri.SANDBOX_NOTREADY, config.metadata, dict(config.labels), dict(config.annotations))

    with faulty_runtime.oci.planned(oci), faulty_runtime.cni.planned(cni), must_be_refused():
        runtime.stub.RunPodSandbox(runtime.sandboxes.creation(config))

    entries = runtime.sandboxes.created_from(config)
    runtime.restart()
    remains = runtime.sandboxes.created_from(config)
    for entry in remains:
        faulty_runtime.remove(entry.id)
    assert [
        (entry.state, entry.metadata, dict(entry.labels), dict(entry.annotations))
        for entry in (*entries, *remains)
    ] == [expected] * (len(entries) + len(remains))
    assert runtime.sandboxes.created_from(config) == []


@requirement("SBX-42")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.ROOT)
def test_end_of_a_sandbox_is_reported_although_its_deletion_fails_once(
    faulty_runtime: FaultyRuntime,
) -> None:
    """A sandbox whose process has died SHOULD be NOTREADY, also if the OCI runtime fails to delete the
    process at first.

    Source: PodSandboxStatus.state. Not stated by the CRI for this case; the kubelet would not create the pod
    again.
    """
    runtime = faulty_runtime.runtime
    pod = runtime.sandbox()
    process = process_of_sandbox(pod)

    with faulty_runtime.oci.planned({"delete": [Record(), *FAILING]}):
        os.kill(process, signal.SIGKILL)
        runtime.eventually(
            "the process to be deleted, or the sandbox to be not ready",
            lambda: bool(faulty_runtime.oci.take()) or pod.state() == cri.SANDBOX_NOTREADY,
            END_SECONDS,
        )

    runtime.eventually(
        "the sandbox to be not ready", pod.state, END_SECONDS, lambda state: state == cri.SANDBOX_NOTREADY
    )
