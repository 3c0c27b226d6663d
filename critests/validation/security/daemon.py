"""Capabilities of the daemon, which cannot grant more to a container, not even to a privileged one."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import grpc

from critests.testing import (
    CAPABILITIES,
    FIRST_PROCESS,
    ProcessEvidence,
    Runtime,
    SharedContainers,
    blocked,
    process_capabilities,
    refused_with,
)
from critests.validation.security.contexts import context, pod_context


def daemon_capabilities(runtime: Runtime) -> set[str]:
    """Return the daemon's own capabilities; every capability if the process table lacks its process, or a
    kernel of the sandbox's own grants them.
    """
    pid = None if runtime.has_guest_kernel else runtime.context.daemon_pid
    return set(CAPABILITIES) & (process_capabilities(pid).permitted if pid else set(CAPABILITIES))


@contextmanager
def blocked_without_daemon_capabilities(runtime: Runtime) -> Iterator[None]:
    """Block a test if a daemon that lacks capabilities rejects a container that requests every one."""
    try:
        yield
    except grpc.RpcError as error:
        code = refused_with(error).name
        missing = set(CAPABILITIES) - daemon_capabilities(runtime)
        if not missing:
            raise
        # without the runtime's message, which contains the time: a reason is the same for all tests
        blocked(f"needs a daemon that holds {', '.join(sorted(missing))}: {code} without")


def privileged_process(
    runtime: Runtime,
    shared_containers: SharedContainers,
    seen_from: str = FIRST_PROCESS,
    questions: Mapping[str, str] | None = None,
    **fields: Any,  # noqa: ANN401 - fields of the message
) -> ProcessEvidence:
    """Return the evidence of a process of a privileged container in a privileged sandbox.

    Args:
        runtime: whose daemon may lack capabilities; the test is blocked then.
        shared_containers: creates the container.
        seen_from: as in `SharedContainers.process`.
        questions: as in `SharedContainers.process`.
        fields: of the container's security context, in addition to `privileged`.
    """
    pod = shared_containers.sandbox(security_context=pod_context(privileged=True))
    with blocked_without_daemon_capabilities(runtime):
        return shared_containers.process(
            seen_from,
            in_sandbox=pod,
            questions=questions,
            security_context=context(privileged=True, **fields),
        )
