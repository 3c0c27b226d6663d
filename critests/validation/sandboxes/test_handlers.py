"""RCL: runtime handlers."""

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Containers,
    Runtime,
    Sandboxes,
    blocked,
    lingering,
    requirement,
    requires,
    unsupported,
    with_user_namespace,
)


@pytest.fixture
def listed(runtime: Runtime) -> list[str]:
    """The handlers that Status lists."""
    named = [
        handler.name for handler in runtime.stub.Status(cri.StatusRequest()).runtime_handlers if handler.name
    ]
    if not named:
        unsupported("runtime handlers: Status lists none")
    return sorted(named)


@pytest.fixture
def handlers(runtime: Runtime, listed: list[str]) -> list[str]:
    """Those of them that can run on this machine."""
    return [handler for handler in listed if handler not in runtime.unfit_handlers]


@pytest.fixture
def unfit(runtime: Runtime, listed: list[str]) -> list[str]:
    """The reasons why the others cannot."""
    return [reason for handler, reason in runtime.unfit_handlers.items() if handler in listed]


@requirement("RCL-01")
def test_empty_handler_means_the_default(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """RunPodSandbox with an empty handler MUST use the default one, and containers run in it.

    Source: RunPodSandboxRequest.runtime_handler.
    """
    config = sandboxes.config()

    response = runtime.stub.RunPodSandbox(sandboxes.creation(config, ""))

    sandbox = sandboxes.adopt(response.pod_sandbox_id, config)
    assert sandbox.state() == cri.SANDBOX_READY
    assert containers.exited(script=lingering("echo by default"), in_sandbox=sandbox).log_lines() == [
        "by default"
    ]


@requirement("RCL-02")
def test_sandbox_has_the_requested_handler(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """RunPodSandbox MUST use the handler of the request, and PodSandboxStatus MUST return it.

    Source: RunPodSandboxRequest.runtime_handler, PodSandboxStatus.runtime_handler.
    """
    config = sandboxes.config()
    handler = runtime.named_handler

    response = runtime.stub.RunPodSandbox(sandboxes.creation(config, handler))

    sandbox = sandboxes.adopt(response.pod_sandbox_id, config)
    assert sandbox.status().runtime_handler == handler
    assert containers.exited(script=lingering("echo by name"), in_sandbox=sandbox).log_lines() == ["by name"]


@requirement("RCL-03")
def test_unknown_handler_is_refused(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """RunPodSandbox with an unknown handler MUST fail and leave no sandbox.

    Source: RunPodSandboxRequest.runtime_handler.
    """
    config = sandboxes.marked_config()

    runtime.refusal(
        runtime.stub.RunPodSandbox,
        sandboxes.creation(config, "critests-no-such-handler"),
    )

    assert sandboxes.created_from(config) == []


@requirement("RCL-04")
def test_sandboxes_of_several_handlers_run_concurrently(
    runtime: Runtime, sandboxes: Sandboxes, handlers: list[str], unfit: list[str]
) -> None:
    """Sandboxes of different handlers SHOULD run at the same time, each with its own handler.

    Source: RunPodSandboxRequest.runtime_handler.
    """
    if len(handlers) < 2:
        if unfit:
            blocked(unfit[0])
        unsupported(f"several handlers: Status lists only {', '.join(handlers)}")
    pods = {}

    for handler in handlers:
        config = runtime.requests.sandbox()
        response = runtime.stub.RunPodSandbox(sandboxes.creation(config, handler))
        pods[handler] = sandboxes.adopt(response.pod_sandbox_id, config)

    statuses = {handler: sandbox.status() for handler, sandbox in pods.items()}
    assert {handler: status.state for handler, status in statuses.items()} == dict.fromkeys(
        handlers, cri.SANDBOX_READY
    )
    assert {handler: status.runtime_handler for handler, status in statuses.items()} == {
        handler: handler for handler in handlers
    }


@requirement("RCL-05")
def test_every_listed_handler_runs_a_container(
    runtime: Runtime,
    sandboxes: Sandboxes,
    containers: Containers,
    handlers: list[str],
    unfit: list[str],
) -> None:
    """Every handler that Status lists SHOULD run a sandbox with a container.

    Source: RuntimeHandler.
    """
    printed = {}

    for handler in handlers:
        config = runtime.requests.sandbox()
        response = runtime.stub.RunPodSandbox(sandboxes.creation(config, handler))
        sandbox = sandboxes.adopt(response.pod_sandbox_id, config)
        # attempt(): a handler that creates no container is a result of this test, not a failed set-up
        container = containers.attempt(containers.config(first=f"echo {handler}"), in_sandbox=sandbox)
        printed[handler] = containers.until_logged(container, handler)

    assert printed == {handler: [handler] for handler in handlers}
    if unfit:
        blocked(unfit[0])


@requirement("RT-17")
@requires(Capability.SHARED_KERNEL)
def test_handlers_that_report_user_namespaces_support_them(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers, handlers: list[str]
) -> None:
    """Every handler that reports user namespaces MUST run a pod with one, and a container with a mount in it.

    Source: RuntimeHandlerFeatures.user_namespaces.
    """
    reported = runtime.stub.Status(cri.StatusRequest()).runtime_handlers
    supporting = [each.name for each in reported if each.features.user_namespaces and each.name in handlers]
    if not supporting:
        unsupported("user namespaces: no handler reports them")
    mappings = {}

    for handler in supporting:
        config = sandboxes.config(namespaces=with_user_namespace())
        response = runtime.stub.RunPodSandbox(sandboxes.creation(config, handler))
        sandbox = sandboxes.adopt(response.pod_sandbox_id, config)
        # the log directory is a directory of the host that exists in any case
        mount = cri.Mount(container_path="/mounted", host_path=str(sandbox.log_directory))
        container = containers.attempt(
            containers.config(
                mounts=[mount],
                pod=config.metadata,
                namespaces=config.linux.security_context.namespace_options,
            ),
            in_sandbox=sandbox,
        )
        mappings[handler] = container.output("cat", "/proc/self/uid_map").split()

    # first id inside, first id outside: equal means that the container has no user namespace
    assert {handler: ids[:2] for handler, ids in mappings.items() if ids[0] == ids[1]} == {}
