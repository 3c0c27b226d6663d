"""Containers with limits, and what the kernel shows of these: from inside, and from this machine."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, Unpack

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers, CreationOptions, ScriptOptions
from critests.fixtures.runtime import Runtime
from critests.lifecycle.containers import Container
from critests.lifecycle.evidence import first_process
from critests.lifecycle.process import host_processes
from critests.lifecycle.sandboxes import Sandbox
from critests.node import container_cgroup
from critests.node.cgroups import cgroup_facts
from critests.node.container_cgroup import CgroupValues
from critests.run.outcomes import blocked, setting_up

Value = TypeVar("Value")
MIB = 1 << 20


@dataclass(frozen=True)
class Limited:
    """A container whose first process can be found from this machine.

    Attributes:
        runtime: where it lives.
        container: in hand.
        mark: what its first process has in its command line, and nothing else on the machine.
    """

    runtime: Runtime
    container: Container
    mark: str

    def inside(self) -> CgroupValues:
        """Read its cgroup from inside, with ExecSync."""
        return CgroupValues.printed(self.container.output("/bin/sh", "-c", container_cgroup.INSIDE))

    def on_the_machine(self) -> CgroupValues:
        """Read its cgroup from this machine, found by its first process."""
        parent = self.container.sandbox.config.linux.cgroup_parent
        return container_cgroup.of_process(self.pid(), parent)

    def pid(self) -> int:
        """Return the first process's number on this machine."""
        self.runtime.eventually(
            "the container's first process in the process table", lambda: host_processes(self.mark)
        )
        return first_process(self.mark)

    def shows(self, value: Callable[[CgroupValues], Value]) -> set[Value]:
        """Return a value of its cgroup as it is seen from inside and, where that can be done, from this
        machine: one element where both agree.
        """
        views = [self.inside()]
        if self.runtime.has(Capability.SAME_HOST) and self.runtime.has(Capability.ROOT):
            views.append(self.on_the_machine())
        return {value(view) for view in views}

    def update(self, **limits: Any) -> cri.UpdateContainerResourcesRequest:  # noqa: ANN401 - fields of the message
        """Return the request that sets some limits, for tests that call UpdateContainerResources
        themselves.
        """
        return cri.UpdateContainerResourcesRequest(
            container_id=self.container.id, linux=cri.LinuxContainerResources(**limits)
        )


@dataclass(frozen=True)
class Limits:
    """Makes a test's containers with limits."""

    runtime: Runtime
    containers: Containers

    def need(self, *controllers: str) -> None:
        """End the test as blocked where the machine has not all of some cgroup controllers."""
        facts = cgroup_facts()
        lacking = sorted(set(controllers) - set(facts.controllers))
        if lacking and self.runtime.has(Capability.SAME_HOST):
            blocked(
                f"needs the cgroup controllers {', '.join(lacking)}, which this machine (cgroup version"
                f" {facts.version}) does not have"
            )

    def inside(self, container: Container) -> CgroupValues:
        """Read the cgroup of any container from inside, with ExecSync."""
        return CgroupValues.printed(container.output("/bin/sh", "-c", container_cgroup.INSIDE))

    def created(
        self,
        config: cri.ContainerConfig | None = None,
        *,
        in_sandbox: Sandbox | None = None,
        **options: Unpack[ScriptOptions],
    ) -> Limited:
        """Make a container that has not been started; its process would wait for SIGTERM.

        Args:
            config: the whole configuration, of a shell's script.
            in_sandbox: the shared one by default.
            options: of `Containers.config`.
        """
        mark = f"mark-{secrets.token_hex(8)}"
        wanted = config or self.containers.config(**options)
        # no program reads it; it is there to be seen in the process table
        wanted.args.append(mark)
        return Limited(self.runtime, self.containers.created(wanted, in_sandbox=in_sandbox), mark)

    def running(
        self, config: cri.ContainerConfig | None = None, **options: Unpack[CreationOptions]
    ) -> Limited:
        """Make a running one; see `created`."""
        limited = self.created(config, **options)
        with setting_up():
            limited.container.start()
        return limited
