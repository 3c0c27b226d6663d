"""K8S: post-start hooks and probes, which the kubelet runs with ExecSync."""

from concurrent.futures import ThreadPoolExecutor
from statistics import median

from critests.api import api_pb2 as cri
from critests.testing import Runtime, requirement, slow
from critests.validation.kubelet.pods import KubeletPod

PROBED = 8
ROUNDS = 24
AT_ONCE = 2
"""A kubelet spreads probes over their periods, so that few run at the same time."""
PROBE = "test -e /tmp/healthy"


@requirement("K8S-17")
def test_a_post_start_hook_runs_as_soon_as_the_start_returns(runtime: Runtime, pod: KubeletPod) -> None:
    """ExecSync right after StartContainer MUST run in the container, together with its process.

    Source: StartContainer, ExecSync; how the kubelet runs lifecycle.postStart.
    """
    sandbox = pod.start()
    app = pod.containers.created(
        pod.config(sandbox, "app", first="until [ -e /tmp/hook ]; do usleep 50000; done; echo hooked"),
        in_sandbox=sandbox,
    )

    runtime.stub.StartContainer(cri.StartContainerRequest(container_id=app.id))
    response = runtime.stub.ExecSync(app.script_request("touch /tmp/hook", timeout=10))

    assert (response.exit_code, response.stderr) == (0, b"")
    app.wait_for_log("hooked")


@requirement("K8S-17")
def test_a_container_whose_post_start_hook_failed_is_started_again(runtime: Runtime, pod: KubeletPod) -> None:
    """ExecSync MUST report the exit code of a failed hook, and the container that is stopped because of it
    MUST start again as the next attempt.

    Source: ExecSyncResponse.exit_code, StopContainer; what the kubelet does for lifecycle.postStart.
    """
    sandbox = pod.start()
    app = pod.run(sandbox, "app", on_term="exit 0")
    app.wait_for_log("ready")

    hook = runtime.stub.ExecSync(app.script_request("exit 6", timeout=10))
    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=app.id, timeout=2))
    pod.run(sandbox, "app", attempt=1)

    pod.await_states("app/0 EXITED", "app/1 RUNNING", "sandbox/0 READY")
    assert hook.exit_code == 6


@requirement("K8S-05")
def test_a_container_whose_liveness_probe_fails_is_started_again(runtime: Runtime, pod: KubeletPod) -> None:
    """ExecSync SHOULD report the result of each probe at that moment, and the container that is stopped
    because of it SHOULD start again as the next attempt.

    Source: ExecSyncResponse.exit_code, StopContainer; what the kubelet does for livenessProbe.exec.
    """
    sandbox = pod.start()
    app = pod.run(sandbox, "app", first="touch /tmp/healthy; echo up", on_term="exit 0")
    app.wait_for_log("ready")
    request = app.script_request(PROBE, timeout=10)

    healthy = runtime.stub.ExecSync(request).exit_code
    runtime.stub.ExecSync(app.script_request("rm /tmp/healthy"))
    # the default failureThreshold of a probe
    failing = [runtime.stub.ExecSync(request).exit_code for _ in range(3)]
    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=app.id, timeout=30))
    again = pod.run(sandbox, "app", attempt=1, first="touch /tmp/healthy; echo up")

    pod.await_states("app/0 EXITED", "app/1 RUNNING", "sandbox/0 READY")
    assert (healthy, failing) == (0, [1, 1, 1])
    again.wait_for_log("up")
    assert again.exec("/bin/sh", "-c", PROBE).exit_code == 0


@requirement("K8S-05")
@slow
def test_probes_of_many_containers_stay_quick(runtime: Runtime, pod: KubeletPod) -> None:
    """ExecSync SHOULD run probes of many containers within their time-out of a second, and SHOULD NOT become
    slower over many rounds.

    Source: ExecSyncRequest.timeout; how the kubelet probes.
    """
    sandbox = pod.start()
    probed = [pod.run(sandbox, f"app-{number}") for number in range(PROBED)]
    # the default timeoutSeconds of a probe, longer on a slow machine
    timeout_seconds = max(1, round(runtime.scale))

    def probe(number: int) -> tuple[int, float]:
        request = probed[number % PROBED].exec_request("true", timeout=timeout_seconds)
        call = runtime.timed(runtime.stub.ExecSync, request)
        return call.response.exit_code, call.seconds

    with ThreadPoolExecutor(AT_ONCE) as prober:
        results = list(prober.map(probe, range(PROBED * ROUNDS)))

    assert {code for code, _ in results} == {0}
    # medians of many probes, which a single slow one does not change
    third = len(results) // 3
    first, last = (median(seconds for _, seconds in part) for part in (results[:third], results[-third:]))
    # 0.5 s: differences below this come from other load on the machine
    assert last < 3 * first + 0.5 * runtime.scale
