"""The condition `user-namespaces`: pods have a user namespace, as the kubelet requests it for a pod with
`hostUsers: false`.
"""

from copy import deepcopy

from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.lifecycle.user_namespaces import MAPPING, with_user_namespace


def with_user_namespace_of_pod(request: Message) -> Message:
    """Return a request as it is for a pod with a user namespace; the same one if the pod may have none.

    The kubelet repeats the pod's mapping in each container, and asks for mounts whose ids are mapped.
    """
    if isinstance(request, cri.RunPodSandboxRequest) and _may_have_one(request.config):
        changed = deepcopy(request)
        _map_ids(changed.config.linux.security_context.namespace_options)
        return changed
    if isinstance(request, cri.CreateContainerRequest) and _may_have_one(request.sandbox_config):
        creation = deepcopy(request)
        _map_ids(creation.sandbox_config.linux.security_context.namespace_options)
        _map_ids(creation.config.linux.security_context.namespace_options)
        for mount in creation.config.mounts:
            if mount.host_path and not (mount.uidMappings or mount.gidMappings):
                mount.uidMappings.append(MAPPING)
                mount.gidMappings.append(MAPPING)
        return creation
    return request


def _may_have_one(pod: cri.PodSandboxConfig) -> bool:
    """Whether Kubernetes admits a user namespace for a pod, and the test has not requested one itself.

    Privileged pods are left out: what tests expect of them needs the node's own ids.
    """
    if not pod.linux.HasField("security_context") or pod.linux.security_context.privileged:
        return False
    options = pod.linux.security_context.namespace_options
    of_node = cri.NODE in {options.network, options.pid, options.ipc}
    return not (of_node or options.HasField("userns_options"))


def _map_ids(options: cri.NamespaceOption) -> None:
    options.userns_options.CopyFrom(with_user_namespace().userns_options)
