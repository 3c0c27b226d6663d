"""K8S: ephemeral containers, which are added to a running pod."""

from critests.api import api_pb2 as cri
from critests.testing import Runtime, Streams, requirement
from critests.validation.kubelet.pods import KubeletPod

MARK = "the-process-to-debug"


@requirement("K8S-07")
def test_an_ephemeral_container_joins_a_running_pod(
    runtime: Runtime, pod: KubeletPod, streams: Streams
) -> None:
    """A container with a terminal that joins the PID namespace of another one in a running pod MUST be usable
    through Attach, see the other's processes, and exit alone.

    Source: NamespaceOption.target_id, ContainerConfig.tty and stdin, Attach; what `kubectl debug --target`
    requests.
    """
    sandbox = pod.start()
    app = pod.run(sandbox, "app", first=f": {MARK}")
    before = app.status()

    joining = cri.NamespaceOption(network=cri.POD, pid=cri.TARGET, ipc=cri.POD, target_id=app.id)
    debugger = pod.run(sandbox, "debugger", command=["/bin/sh"], stdin=True, tty=True, namespaces=joining)
    pod.await_states("app/0 RUNNING", "debugger/0 RUNNING", "sandbox/0 READY")
    session = streams.open(
        runtime.stub.Attach,
        cri.AttachRequest(container_id=debugger.id, stdin=True, stdout=True, tty=True),
    )
    # the terminal echoes the command with its quotes, so that only the output has the words unquoted
    session.write(f"grep -q {MARK} /proc/1/cmdline && echo it is' 'seen\n".encode())
    session.stdout_until(b"it is seen")
    session.write(b"exit 7\n")

    assert debugger.exited().exit_code == 7
    pod.await_states("app/0 RUNNING", "debugger/0 EXITED", "sandbox/0 READY")
    assert app.status().started_at == before.started_at
