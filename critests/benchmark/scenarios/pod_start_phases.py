"""The phases of a pod start: CNI plugins, OCI runtime, and the rest, on a second runtime with wrappers for
both.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from critests.benchmark.measuring.meter import Meter
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import PLAIN, Target
from critests.benchmark.scenarios.workloads import create_and_start
from critests.client.endpoint import Endpoint
from critests.client.hangs import Hangs
from critests.images.registry_client import PAUSE_REPOSITORY
from critests.node.starting.start_runtime import start_throwaway
from critests.node.starting.targets import parse_handler_binaries, parse_throwaway
from critests.node.starting.throwaway import ThrowawayRuntime
from critests.node.wrappers.actions import Record
from critests.node.wrappers.phases import split
from critests.node.wrappers.wrapped_programs import WrappedPrograms

SPLIT = ("RunPodSandbox", "CreateContainer", "StartContainer")


@contextlib.contextmanager
def wrapped(target: Target) -> Iterator[tuple[Target, ThrowawayRuntime]]:
    """Start another runtime of a side's kind and binary, with wrappers that record, and yield a target on it.

    Raises:
        RuntimeStartFailed: it did not start; nothing of it is left behind.
    """
    context = target.context
    assert context.registry is not None
    choice = parse_throwaway(context.settings.node)
    with start_throwaway(
        choice.kind,
        binary=choice.binary,
        extra_handlers=parse_handler_binaries(context.settings.handler_binary),
        registry_addresses=[context.registry.address],
        pause_image=f"{context.registry.address}/{PAUSE_REPOSITORY}:1",
        run_id=context.run.id,
        cgroup_driver=context.settings.driver,
        extra_settings=context.settings.of_node,
        wrapped=WrappedPrograms(oci=True, cni=True),
    ) as runtime:
        for wrapper in (runtime.wrappers.oci, runtime.wrappers.cni):
            assert wrapper is not None
            wrapper.plan({"*": [Record()]})
        endpoint = Endpoint.parse(runtime.endpoint)
        own = replace(
            context,
            endpoint=endpoint,
            image_endpoint=endpoint,
            daemon_pid=runtime.pid,
            companions=list(runtime.companions),
            owned=None,
            hangs=Hangs(context.hangs.deadlines),
        )
        on_wrapped = Target.open(own, target.handler, target.side)
        try:
            yield on_wrapped, runtime
        finally:
            on_wrapped.close()


def can_be_split(target: Target) -> bool:
    """Whether wrappers can record a side: it is a throwaway runtime, with its default handler."""
    return target.context.throwaway and target.context.registry is not None and not target.handler


def starting(runtimes: Sequence[tuple[Target, ThrowawayRuntime]]) -> Workload:
    """Return the workload that starts one pod with one container after another, and splits each of its
    calls.
    """

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        runtime = next(runtime for side, runtime in runtimes if side is target)
        oci, cni = runtime.wrappers.oci, runtime.wrappers.cni
        assert oci is not None
        assert cni is not None
        target.image(PLAIN)

        def cycle(meter: Meter) -> None:
            whole = meter.clone()
            request = target.sandbox_request()
            sandbox_id = ""
            try:
                sandbox_id = whole.call("RunPodSandbox", target.runtime.RunPodSandbox, request).pod_sandbox_id
                create = target.container_request(sandbox_id, request.config)
                create_and_start(target, whole, create)
                target.wait_for_output(request.config, create.config)
            finally:
                plugins, programs = cni.take(), oci.take()
                if sandbox_id:
                    target.discard(sandbox_id)
                    cni.take()
                    oci.take()
            for operation in SPLIT:
                begin, seconds = whole.windows[operation]
                parts = split(begin, seconds, cni=plugins, oci=programs)
                for phase, share in (("cni", parts.cni), ("oci", parts.oci), ("rest", parts.rest)):
                    meter.with_dimensions(phase=phase).add(operation, share, begin)

        yield cycle

    return prepared
