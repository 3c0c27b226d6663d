"""Containers with limits, and their cgroups as read in the container and on this machine."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, Unpack

from critests.api import api_pb2 as cri
from critests.fixtures.container_fixtures import CreationOptions
from critests.node.cgroups import container_cgroup
from critests.testing import (
    Capability,
    CgroupValues,
    Container,
    Containers,
    Runtime,
    Sandbox,
    ScriptOptions,
    blocked,
    cgroup_facts,
    first_process,
    host_processes,
    setting_up,
)

Value = TypeVar("Value")
MIB = 1 << 20


@dataclass(frozen=True)
class Limited:
    """A container whose first process can be found in this machine's process table.

    Attributes:
        runtime: of the container.
        container: itself.
        mark: an argument of its first process that no other process of the machine has.
    """

    runtime: Runtime
    container: Container
    mark: str

    def inside(self) -> CgroupValues:
        """Read its cgroup in the container, with ExecSync."""
        return CgroupValues.printed(self.container.output("/bin/sh", "-c", container_cgroup.INSIDE))

    def on_the_machine(self) -> CgroupValues:
        """Read its cgroup on this machine, found by its first process."""
        parent = self.container.sandbox.config.linux.cgroup_parent
        return container_cgroup.of_process(self.pid(), parent)

    def pid(self) -> int:
        """Return the first process's PID on this machine."""
        self.runtime.eventually(
            "the container's first process in the process table", lambda: host_processes(self.mark)
        )
        return first_process(self.mark)

    def observed(self, value: Callable[[CgroupValues], Value]) -> set[Value]:
        """Return a value of its cgroup as read in the container and, if possible, on this machine: one
        element if both agree.
        """
        views = [self.inside()]
        if self.runtime.has(Capability.SAME_HOST) and self.runtime.has(Capability.ROOT):
            views.append(self.on_the_machine())
        return {value(view) for view in views}

    def update(self, **limits: Any) -> cri.UpdateContainerResourcesRequest:  # noqa: ANN401 - fields of the message
        """Return an UpdateContainerResources request with these limits."""
        return cri.UpdateContainerResourcesRequest(
            container_id=self.container.id, linux=cri.LinuxContainerResources(**limits)
        )


@dataclass(frozen=True)
class Limits:
    """Creates a test's containers with limits."""

    runtime: Runtime
    containers: Containers

    def require(self, *controllers: str) -> None:
        """Block the test if the machine lacks one of some cgroup controllers."""
        facts = cgroup_facts()
        lacking = sorted(set(controllers) - set(facts.controllers))
        # on another machine, these controllers are not those of the containers
        if lacking and self.runtime.has(Capability.SAME_HOST):
            blocked(
                f"needs the cgroup controllers {', '.join(lacking)}, which this machine (cgroup version"
                f" {facts.version}) does not have"
            )

    def inside(self, container: Container) -> CgroupValues:
        """Read the cgroup of any container, with ExecSync."""
        return CgroupValues.printed(container.output("/bin/sh", "-c", container_cgroup.INSIDE))

    def created(
        self,
        config: cri.ContainerConfig | None = None,
        *,
        in_sandbox: Sandbox | None = None,
        **options: Unpack[ScriptOptions],
    ) -> Limited:
        """Create a container without starting it; its process would wait for SIGTERM.

        Args:
            config: the whole configuration, of a shell script.
            in_sandbox: the shared sandbox by default.
            options: of `Containers.config`.
        """
        mark = f"mark-{secrets.token_hex(8)}"
        config = config or self.containers.config(**options)
        # the script ignores it; it identifies the process in the process table
        config.args.append(mark)
        return Limited(self.runtime, self.containers.created(config, in_sandbox=in_sandbox), mark)

    def running(
        self, config: cri.ContainerConfig | None = None, **options: Unpack[CreationOptions]
    ) -> Limited:
        """Create a container and start it; see `created`."""
        limited = self.created(config, **options)
        with setting_up():
            limited.container.start()
        return limited
