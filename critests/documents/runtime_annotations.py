"""Annotations of pods and containers to which runtimes themselves give a meaning.

Source: the annotations that containerd (io.kubernetes.cri, io.containerd), CRI-O (crio.io,
io.kubernetes.cri-o), runc, crun and the CDI define; PodSandboxConfig.annotations, whose values are any
texts.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from critests.documents.document_fields import ESCAPE, Expected
from critests.documents.variants import LONG_TEXT

WITH_MEANING = (
    "io.kubernetes.cri.untrusted-workload",
    "io.kubernetes.cri.rdt-class",
    "io.kubernetes.cri.blockio-class",
    "blockio.resources.beta.kubernetes.io/pod",
    "rdt.resources.beta.kubernetes.io/pod",
    "io.containerd.cri.runtime-handler",
    "kubernetes.io/ingress-bandwidth",
    "kubernetes.io/egress-bandwidth",
    "cdi.k8s.io/critests",
    "devices.crio.io",
    "shm-size.crio.io",
    "umask.crio.io",
    "unified-cgroup.crio.io",
    "userns-mode.crio.io",
    "seccomp-profile.crio.io",
    "seccomp-notifier-action.crio.io",
    "cpu-load-balancing.crio.io",
    "cpu-quota.crio.io",
    "cpu-c-states.crio.io",
    "cpu-freq-governor.crio.io",
    "cpu-shared.crio.io",
    "irq-load-balancing.crio.io",
    "link-logs.crio.io",
    "platform-runtime-path.crio.io",
    "pod-linux-overhead.crio.io",
    "pod-linux-resources.crio.io",
    "spoofed.crio.io",
    "io.kubernetes.cri-o.Devices",
    "io.kubernetes.cri-o.ShmSize",
    "io.kubernetes.cri-o.userns-mode",
    "io.containers.trace-syscall",
    "org.systemd.property.TimeoutStopUSec",
    "org.criu.config",
    "run.oci.systemd.subgroup",
    "run.oci.delegate-cgroup",
)
"""Annotations that change what a runtime does, if its configuration allows that."""
OF_THE_STATE = (
    "io.kubernetes.cri.sandbox-id",
    "io.kubernetes.cri.container-type",
    "io.kubernetes.cri.sandbox-log-directory",
    "io.kubernetes.cri-o.Annotations",
    "io.kubernetes.cri-o.CNIResult",
    "io.kubernetes.cri-o.CgroupParent",
    "io.kubernetes.cri-o.ContainerID",
    "io.kubernetes.cri-o.ContainerType",
    "io.kubernetes.cri-o.Created",
    "io.kubernetes.cri-o.HostNetwork",
    "io.kubernetes.cri-o.IP.0",
    "io.kubernetes.cri-o.Labels",
    "io.kubernetes.cri-o.LogPath",
    "io.kubernetes.cri-o.Metadata",
    "io.kubernetes.cri-o.MountPoint",
    "io.kubernetes.cri-o.NamespaceOptions",
    "io.kubernetes.cri-o.PortMappings",
    "io.kubernetes.cri-o.ResolvPath",
    "io.kubernetes.cri-o.SandboxID",
    "io.kubernetes.cri-o.SeccompProfilePath",
    "io.kubernetes.cri-o.ShmPath",
    "io.kubernetes.cri-o.Volumes",
    "io.kubernetes.container.restartCount",
    "io.kubernetes.pod.terminationGracePeriod",
)
"""Annotations in which runtimes store their own state, next to those of the request."""
_FEW = {
    "is empty": "",
    "is a text": "nonsense",
    "is the begin of an object": "{",
    "leads upwards": f"../../../../{ESCAPE}",
}
_MORE = {
    "is true": "true",
    "is negative": "-1",
    "is a large number": "99999999999999999999",
    "is null": "null",
    "is an object with null": json.dumps({"": None}),
    "is a list": "[[], {}, null]",
    "has a line break": "a\nb",
    "has a NUL": "a\0b",
    "is of separators": ":;,=/::,,",
    "is long": LONG_TEXT,
}


@dataclass(frozen=True)
class Annotations:
    """Annotations with one unusual value, for a pod and its container.

    Attributes:
        keys: of the annotations.
        change: what is unusual, in words.
        value: of each annotation.
    """

    keys: tuple[str, ...]
    change: str
    value: str
    expected: Expected = Expected.EITHER

    def __str__(self) -> str:
        return f"{', '.join(self.keys)} {self.change}"

    def parts(self, count: int) -> Iterator["Annotations"]:
        """Yield as many parts, each with some of the keys."""
        size = -(-len(self.keys) // count)
        for start in range(0, len(self.keys), size):
            yield replace(self, keys=self.keys[start : start + size])


def annotation_variants(keys: tuple[str, ...]) -> Iterator[Annotations]:
    """Yield these annotations with unusual values; a runtime may reject each."""
    changes = {**_FEW, **_MORE} if keys == WITH_MEANING else _FEW
    for change, value in changes.items():
        yield Annotations(keys, change, value)
