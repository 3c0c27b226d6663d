"""K8S: ephemeral containers, which are added to a pod that runs."""

from critests.api import api_pb2 as cri
from critests.fixtures.runtime import Runtime
from critests.fixtures.streaming import Streams
from critests.run.marks import requirement
from critests.validation.kubelet.pods import Pod

MARK = "the-process-to-debug"


@requirement("K8S-07")
def test_an_ephemeral_container_joins_a_running_pod(runtime: Runtime, pod: Pod, streams: Streams) -> None:
    """A container that is added to a running pod with a terminal and the processes of another one MUST be
    usable through Attach, see those processes, and end alone.

    Source: NamespaceOption.target_id, ContainerConfig.tty and stdin, Attach; what `kubectl debug --target`
    asks for.
    """
    sandbox = pod.start()
    app = pod.run(sandbox, "app", first=f": {MARK}")
    before = app.status()

    joining = cri.NamespaceOption(network=cri.POD, pid=cri.TARGET, ipc=cri.POD, target_id=app.id)
    debugger = pod.run(sandbox, "debugger", command=["/bin/sh"], stdin=True, tty=True, namespaces=joining)
    pod.shows("app/0 RUNNING", "debugger/0 RUNNING", "sandbox/0 READY")
    session = streams.open(
        runtime.stub.Attach,
        cri.AttachRequest(container_id=debugger.id, stdin=True, stdout=True, tty=True),
    )
    # in what the terminal echoes the quotes part the words
    session.write(f"grep -q {MARK} /proc/1/cmdline && echo it is' 'seen\n".encode())
    session.stdout_until(b"it is seen")
    session.write(b"exit 7\n")

    assert debugger.exited().exit_code == 7
    pod.shows("app/0 RUNNING", "debugger/0 EXITED", "sandbox/0 READY")
    assert app.status().started_at == before.started_at
