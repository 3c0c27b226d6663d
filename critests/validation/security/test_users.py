"""USR: the user and the groups of a container's processes."""

import pytest

from critests.api import api_pb2 as cri
from critests.fixtures.shared_containers import SharedContainers
from critests.lifecycle.process import VIEWS
from critests.run.marks import requirement

TESTER = cri.LinuxContainerSecurityContext(run_as_user=cri.Int64Value(value=1000))


@requirement("USR-01")
@pytest.mark.parametrize("seen_from", VIEWS)
def test_run_as_user_is_the_uid_of_every_process(shared: SharedContainers, seen_from: str) -> None:
    """Every process of a container MUST have run_as_user as its uid, and the gid that the image's /etc/passwd
    gives to that uid.

    Source: LinuxContainerSecurityContext.run_as_user.
    """
    process = shared.process(seen_from, security_context=TESTER)

    assert process.status.uids == (1000, 1000, 1000, 1000)
    assert process.status.gids == (1000, 1000, 1000, 1000)
