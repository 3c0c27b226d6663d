"""Labels and annotations that the kubelet sets on every pod and container, and by which it recognises them
after a restart.
"""

from critests.api import api_pb2 as cri

POD_NAME = "io.kubernetes.pod.name"
POD_NAMESPACE = "io.kubernetes.pod.namespace"
POD_UID = "io.kubernetes.pod.uid"
CONTAINER_NAME = "io.kubernetes.container.name"

GRACE_SECONDS = 30
"""Default of a pod's terminationGracePeriodSeconds."""
TERMINATION_LOG = "/dev/termination-log"
"""Default of a container's terminationMessagePath."""


def of_pod(metadata: cri.PodSandboxMetadata) -> dict[str, str]:
    """Return the labels of a pod, which its containers have too."""
    return {POD_NAME: metadata.name, POD_NAMESPACE: metadata.namespace, POD_UID: metadata.uid}


def pod_annotations() -> dict[str, str]:
    """Return the annotations of a pod that came from the API server."""
    return {
        "kubernetes.io/config.seen": "2026-01-02T03:04:05.678901234Z",
        "kubernetes.io/config.source": "api",
    }


def container_annotations(attempt: int) -> dict[str, str]:
    """Return the annotations of a container with default settings.

    Args:
        attempt: how often it was started before.
    """
    return {
        "io.kubernetes.container.hash": "1a2b3c4d",
        "io.kubernetes.container.restartCount": str(attempt),
        "io.kubernetes.container.terminationMessagePath": TERMINATION_LOG,
        "io.kubernetes.container.terminationMessagePolicy": "File",
        "io.kubernetes.pod.terminationGracePeriod": str(GRACE_SECONDS),
    }
