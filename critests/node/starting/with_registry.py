"""A private runtime together with the registry that it pulls from."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from critests.images.registry import RegistryServer
from critests.images.registry_client import RegistryClient
from critests.lifecycle.run_label import RunIdentity
from critests.node.starting.start_runtime import start_throwaway
from critests.node.starting.throwaway import ThrowawayRuntime
from critests.node.wrappers.wrapped_programs import NONE_WRAPPED, WrappedPrograms


@contextlib.contextmanager
def throwaway_with_registry(
    kind: str = "containerd",
    *,
    run_id: str | None = None,
    binary: Path | None = None,
    network: bool = True,
    wrapped: WrappedPrograms = NONE_WRAPPED,
) -> Iterator[tuple[ThrowawayRuntime, RegistryClient]]:
    """Start both, on a free port; both are stopped at the end.

    Args:
        kind: See `start_throwaway`, as for all but the next.
        run_id: the run that it belongs to; None for one of its own.
        binary: See above.
        network: See above.
        wrapped: See above.

    Raises:
        RuntimeStartFailed: the runtime did not start; everything of it was removed.
    """
    with RegistryServer(0) as registry:
        client = registry.client()
        with start_throwaway(
            kind,
            run_id=run_id or RunIdentity.new().id,
            pause_image=client.mint_pause().reference,
            registry_addresses=[registry.address],
            binary=binary,
            network=network,
            wrapped=wrapped,
        ) as runtime:
            yield runtime, client
