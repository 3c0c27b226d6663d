"""K8S: post-start hooks and probes, which are execs that the kubelet acts on."""

from concurrent.futures import ThreadPoolExecutor
from statistics import median

from critests.api import api_pb2 as cri
from critests.fixtures.runtime import Runtime
from critests.run.marks import requirement, slow
from critests.validation.kubelet.pods import Pod

PROBED = 8
ROUNDS = 24
AT_ONCE = 2
"""Probes of a node's containers are spread over their periods, so that few come together."""
PROBE = "test -e /tmp/healthy"


@requirement("K8S-17")
def test_a_post_start_hook_runs_as_soon_as_the_start_returns(runtime: Runtime, pod: Pod) -> None:
    """An exec right after StartContainer MUST run in the container, beside its process.

    Source: StartContainer, ExecSync; how the kubelet runs lifecycle.postStart.
    """
    sandbox = pod.start()
    app = pod.containers.created(
        pod.config(sandbox, "app", first="until [ -e /tmp/hook ]; do usleep 50000; done; echo hooked"),
        in_sandbox=sandbox,
    )

    runtime.stub.StartContainer(cri.StartContainerRequest(container_id=app.id))
    answer = runtime.stub.ExecSync(app.script_request("touch /tmp/hook", timeout=10))

    assert (answer.exit_code, answer.stderr) == (0, b"")
    app.wait_for_log("hooked")


@requirement("K8S-17")
def test_a_container_whose_post_start_hook_failed_is_started_again(runtime: Runtime, pod: Pod) -> None:
    """The exit code of a hook that failed MUST be told, and the container that is killed for it MUST come up
    again as the next attempt.

    Source: ExecSyncResponse.exit_code, StopContainer; what the kubelet does for lifecycle.postStart.
    """
    sandbox = pod.start()
    app = pod.run(sandbox, "app", on_term="exit 0")
    app.wait_for_log("ready")

    hook = runtime.stub.ExecSync(app.script_request("exit 6", timeout=10))
    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=app.id, timeout=2))
    pod.run(sandbox, "app", attempt=1)

    pod.shows("app/0 EXITED", "app/1 RUNNING", "sandbox/0 READY")
    assert hook.exit_code == 6


@requirement("K8S-05")
def test_a_container_whose_liveness_probe_fails_is_started_again(runtime: Runtime, pod: Pod) -> None:
    """Each probe SHOULD tell how the container is at that moment, and the container that is killed for it
    SHOULD come up again as the next attempt.

    Source: ExecSyncResponse.exit_code, StopContainer; what the kubelet does for livenessProbe.exec.
    """
    sandbox = pod.start()
    app = pod.run(sandbox, "app", first="touch /tmp/healthy; echo up", on_term="exit 0")
    app.wait_for_log("ready")
    request = app.script_request(PROBE, timeout=10)

    healthy = runtime.stub.ExecSync(request).exit_code
    runtime.stub.ExecSync(app.script_request("rm /tmp/healthy"))
    failing = [runtime.stub.ExecSync(request).exit_code for _ in range(3)]
    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=app.id, timeout=30))
    again = pod.run(sandbox, "app", attempt=1, first="touch /tmp/healthy; echo up")

    pod.shows("app/0 EXITED", "app/1 RUNNING", "sandbox/0 READY")
    assert (healthy, failing) == (0, [1, 1, 1])
    again.wait_for_log("up")
    assert again.exec("/bin/sh", "-c", PROBE).exit_code == 0


@requirement("K8S-05")
@slow
def test_probes_of_many_containers_stay_quick(runtime: Runtime, pod: Pod) -> None:
    """Probes of many containers SHOULD all succeed within their second, and take no longer after many rounds
    than in the first ones.

    Source: ExecSyncRequest.timeout; how the kubelet probes.
    """
    sandbox = pod.start()
    probed = [pod.run(sandbox, f"app-{number}") for number in range(PROBED)]
    seconds_to_answer = max(1, round(runtime.scale))

    def probe(number: int) -> tuple[int, float]:
        request = probed[number % PROBED].exec_request("true", timeout=seconds_to_answer)
        call = runtime.timed(runtime.stub.ExecSync, request)
        return call.response.exit_code, call.seconds

    with ThreadPoolExecutor(AT_ONCE) as prober:
        answers = list(prober.map(probe, range(PROBED * ROUNDS)))

    assert {code for code, _ in answers} == {0}
    third = len(answers) // 3
    first, last = (median(seconds for _, seconds in part) for part in (answers[:third], answers[-third:]))
    # half a second is nobody's growth, it is what else the machine does
    assert last < 3 * first + 0.5 * runtime.scale
