"""VOL: image volumes while the daemon is restarted."""

import signal

import pytest

from critests.testing import Capability, OwnRuntime, disruptive, requirement, requires
from critests.validation.mounts.test_image_volumes import HELLO, volume


@requirement("VOL-15/restart")
@disruptive
@requires(Capability.IMAGE_VOLUMES)
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
def test_image_volume_survives_a_restart(own_runtime: OwnRuntime, end: signal.Signals) -> None:
    """An image volume of a running container MUST NOT change over a restart of the daemon.

    Source: Mount.image. Not stated by the CRI; a running container survives a restart, and the files that it
    reads must survive too.
    """
    container = own_runtime.container(mounts=[volume(own_runtime.pulled("volume"))])

    own_runtime.restart(end)

    assert container.output("cat", "/volume/hello", "/volume/sub/inside").splitlines() == [HELLO, "inside"]
