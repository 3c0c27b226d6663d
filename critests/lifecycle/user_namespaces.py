"""The user namespace of tests, like the kubelet's: one range of ids, from 0 inside."""

from typing import Final

from critests.api import api_pb2 as cri

FIRST_ID: Final = 1_048_576
"""The host's id for 0 inside, which is unused on an ordinary machine."""
IDS: Final = 65_536
"""As many as the kubelet maps for a pod."""
MAPPING: Final = cri.IDMapping(host_id=FIRST_ID, container_id=0, length=IDS)


def mapped(options: cri.UserNamespace, *, network: "cri.NamespaceMode" = cri.POD) -> cri.NamespaceOption:
    """Return the namespaces of an ordinary pod with a user namespace."""
    return cri.NamespaceOption(network=network, pid=cri.CONTAINER, ipc=cri.POD, userns_options=options)


def with_user_namespace(*, network: "cri.NamespaceMode" = cri.POD) -> cri.NamespaceOption:
    """Return the namespaces of an ordinary pod whose ids are those of `MAPPING`."""
    return mapped(cri.UserNamespace(mode=cri.POD, uids=[MAPPING], gids=[MAPPING]), network=network)
