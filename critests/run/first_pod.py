"""The first pod on a machine where SELinux enforces: a runtime that the suite starts has other paths than a
packaged one, and the policy may keep it from working.
"""

import contextlib
import time
from collections.abc import Callable
from typing import Final

import grpc

from critests.api import api_pb2 as cri
from critests.client.connection import Connection
from critests.client.failures import code_of, in_words
from critests.exit_codes import CannotTest
from critests.lifecycle.labelled_removal import remove_run
from critests.lifecycle.requests import ImageName
from critests.node.host import selinux_denials
from critests.node.observing.machine_facts import selinux_mode
from critests.record.blocking import LOST_CONNECTION
from critests.run.context import RunContext

NO_ANSWER: Final = LOST_CONNECTION | {"DEADLINE_EXCEEDED"}
"""Codes of calls to a daemon that ends or hangs, which no policy excuses."""


def check_first_pod(
    connection: Connection, context: RunContext, image: Callable[[], ImageName | None]
) -> None:
    """Run a pod with a container if SELinux enforces and the suite started the runtime; otherwise, without an
    image, or if the daemon hangs or ends, leave it to the tests.

    Raises:
        CannotTest: it failed. Whether the runtime or the policy is the cause is unknown.
    """
    if not context.throwaway or context.gone or selinux_mode() != "enforcing":
        return
    begin = time.monotonic()
    try:
        _run_pod(connection, context, image())
    except grpc.RpcError as error:
        if code_of(error)[0] in NO_ANSWER:
            return
        denied = selinux_denials.denied_since(begin)
        what = f" SELinux denied: {'; '.join(denied)}." if denied else ""
        msg = (
            f"SELinux is enforcing here, and the first pod failed: {in_words(error)}.{what} The runtime is"
            " not judged, as this may be the node's policy: allow it (ausearch -m avc,user_avc), give the"
            " daemon's program the label of a packaged one (matchpathcon), or try `setenforce 0`"
        )
        raise CannotTest(msg) from error
    finally:
        with contextlib.suppress(grpc.RpcError):
            remove_run(connection, context.run)


def _run_pod(connection: Connection, context: RunContext, image: ImageName | None) -> None:
    requests, handler = context.requests(), context.settings.handlers[0]
    pod = requests.sandbox()
    sandbox = connection.runtime.RunPodSandbox(cri.RunPodSandboxRequest(config=pod, runtime_handler=handler))
    if image is None:
        return
    container = connection.runtime.CreateContainer(
        cri.CreateContainerRequest(
            pod_sandbox_id=sandbox.pod_sandbox_id,
            config=requests.container(image, pod=pod.metadata, command=["sleep", "60"]),
            sandbox_config=pod,
        )
    )
    connection.runtime.StartContainer(cri.StartContainerRequest(container_id=container.container_id))
