"""UNS: ID mappings of a pod over a restart of the daemon."""

import secrets
import signal
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    FIRST_ID,
    IDS,
    MAPPING,
    Capability,
    OwnRuntime,
    disruptive,
    first_process,
    requirement,
    requires,
    with_user_namespace,
)

ENDS = pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL], ids=["in order", "killed"])
PATHS = ("bin/busybox", "home/tester", "mounted/of-root", "mounted/of-tester")
"""Files of the image and of a mount, of root and of user 1000 in turn."""


@requirement("UNS-14")
@disruptive
@requires(Capability.USER_NAMESPACES)
@ENDS
def test_id_mapping_is_retained_over_a_restart(own_runtime: OwnRuntime, end: signal.Signals) -> None:
    """The containers of a pod MUST retain their ID mapping over a restart of the daemon, and later containers
    MUST get the same.

    Source: UserNamespace. Not stated by the CRI; the containers of a pod share its namespace.
    """
    pod = own_runtime.sandbox(namespaces=with_user_namespace())
    earlier = own_runtime.container(pod)

    own_runtime.restart(end)

    later = own_runtime.container(pod)
    maps = [
        each.output("cat", f"/proc/self/{name}_map").split()
        for each in (earlier, later)
        for name in ("uid", "gid")
    ]
    assert maps == [["0", str(FIRST_ID), str(IDS)]] * 4


def owners(folder: Path) -> list[str]:
    """Return the owners of `PATHS` below a directory, as this machine shows them."""
    stats = [(folder / path).stat() for path in PATHS]
    return [f"{stat.st_uid}:{stat.st_gid}" for stat in stats]


@requirement("UNS-14")
@disruptive
@requires(Capability.USER_NAMESPACES, Capability.SHARED_KERNEL, Capability.SAME_HOST, Capability.ROOT)
@ENDS
def test_files_of_a_pod_keep_their_owners_over_a_restart(
    own_runtime: OwnRuntime, host_folder: Path, end: signal.Signals
) -> None:
    """Files of the image and of a mount with mapped IDs MUST have the same owners after a restart of the
    daemon, in earlier and in later containers of a pod, both inside and on the node.

    Source: UserNamespace, Mount.uidMappings and gidMappings. Not stated by the CRI; the containers of a pod
    share its namespace.
    """
    mount = cri.Mount(
        container_path="/mounted",
        host_path=str(host_folder),
        uidMappings=[MAPPING],
        gidMappings=[MAPPING],
    )
    pod = own_runtime.sandbox(namespaces=with_user_namespace())
    make = "touch /mounted/of-root /mounted/of-tester && chown 1000:1000 /mounted/of-tester"
    marks = [secrets.token_hex(8) for _ in range(2)]
    earlier = own_runtime.container(pod, mounts=[mount], first=f"{make}; : {marks[0]}")

    own_runtime.restart(end)

    later = own_runtime.container(pod, mounts=[mount], first=f": {marks[1]}")
    inside = [
        each.output("stat", "-c", "%u:%g", *(f"/{path}" for path in PATHS)).split()
        for each in (earlier, later)
    ]
    assert inside == [["0:0", "1000:1000"] * 2] * 2
    on_the_node = [owners(Path(f"/proc/{first_process(mark)}/root")) for mark in marks]
    assert on_the_node == [[f"{FIRST_ID}:{FIRST_ID}", f"{FIRST_ID + 1000}:{FIRST_ID + 1000}"] * 2] * 2
    # on disk the files of a mapped mount have the IDs from inside
    assert [(host_folder / name).stat().st_uid for name in ("of-root", "of-tester")] == [0, 1000]
