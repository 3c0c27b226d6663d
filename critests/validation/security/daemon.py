"""What the daemon itself may do: it cannot give more to a container."""

from collections.abc import Iterator
from contextlib import contextmanager

import grpc

from critests.fixtures.runtime import Runtime, refused_with
from critests.lifecycle.process import CAPABILITIES
from critests.node.privileges import process_capabilities
from critests.run.outcomes import blocked


def daemon_capabilities(runtime: Runtime) -> set[str]:
    """Return the daemon's own capabilities, all there are where its process cannot be seen."""
    pid = runtime.context.daemon_pid
    return set(CAPABILITIES) & (process_capabilities(pid).permitted if pid else set(CAPABILITIES))


@contextmanager
def as_far_as_the_daemon_can(runtime: Runtime) -> Iterator[None]:
    """Block a test where a daemon that lacks capabilities refuses a container that is to have every one."""
    try:
        yield
    except grpc.RpcError as error:
        code = refused_with(error).name
        missing = set(CAPABILITIES) - daemon_capabilities(runtime)
        if not missing:
            raise
        # the runtime's own words name the time, and would make every test a reason of its own
        blocked(f"needs a daemon that holds {', '.join(sorted(missing))}: {code} without")
