"""Request messages like the kubelet's."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from critests.api import api_pb2 as cri
from critests.lifecycle import kubelet_keys
from critests.lifecycle.cgroup_parents import CgroupParents
from critests.lifecycle.request_names import RequestNames
from critests.lifecycle.run_label import RunIdentity

# What the kubelet sends for an ordinary pod, from the OCI runtime's usual defaults.
MASKED_PATHS = (
    # this one exists on every machine, so that a runtime that drops the first of the list is noticed
    "/proc/timer_list",
    "/proc/asound",
    "/proc/acpi",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
)
READONLY_PATHS = ("/proc/sys", "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sysrq-trigger")
BEST_EFFORT_OOM_SCORE = 1000
BEST_EFFORT_CPU_SHARES = 2
"""The kubelet's values for a container of a BestEffort pod; the kernel permits no fewer shares."""
CPU_PERIOD = 100_000
"""In microseconds; the kubelet also sets it without a quota."""

HOST_NETWORK = cri.NamespaceOption(network=cri.NODE, pid=cri.CONTAINER, ipc=cri.POD)
"""The namespaces of a pod on the node's network, with a PID namespace per container."""


@dataclass(frozen=True)
class ImageName:
    """The name of an image in a container's configuration.

    Attributes:
        reference: returned by the pull; the kubelet sends it in `image`.
        written: the name in the pod's specification; the kubelet sends it in `user_specified_image`.
    """

    reference: str
    written: str

    def spec(self) -> cri.ImageSpec:
        """Return the image specification of a container."""
        return cri.ImageSpec(image=self.reference, user_specified_image=self.written)

    def is_among(self, tags: Collection[str]) -> bool:
        """Return whether the image has one of these full names; of a name that was written without a
        registry, the runtime chooses the registry.
        """
        registry, slash, _ = self.written.partition("/")
        if slash and (registry == "localhost" or "." in registry or ":" in registry):
            return self.written in tags
        return any(tag.endswith(f"/{self.written}") for tag in tags)


def pulling(written: str, auth: cri.AuthConfig | None = None) -> cri.PullImageRequest:
    """Return the request that pulls an image by the name in a pod's specification."""
    return cri.PullImageRequest(image=ImageName(written, written).spec(), auth=auth)


class SandboxOptions(TypedDict, total=False):
    """The arguments of `RequestBuilder.sandbox`, for functions that pass them on."""

    name: str
    namespace: str
    uid: str
    attempt: int
    hostname: str | None
    labels: Mapping[str, str] | None
    annotations: Mapping[str, str] | None
    dns_config: cri.DNSConfig | None
    port_mappings: Sequence[cri.PortMapping]
    namespaces: cri.NamespaceOption | None
    security_context: cri.LinuxSandboxSecurityContext | None
    sysctls: Mapping[str, str] | None


class SpecOptions(TypedDict, total=False):
    """The arguments of `RequestBuilder.container` that come from a pod's specification."""

    command: Sequence[str]
    args: Sequence[str]
    working_dir: str
    envs: Mapping[str, str] | Sequence[cri.KeyValue] | None
    labels: Mapping[str, str] | None
    annotations: Mapping[str, str] | None
    mounts: Sequence[cri.Mount]
    devices: Sequence[cri.Device]
    stdin: bool
    stdin_once: bool
    tty: bool
    log_path: str | None
    security_context: cri.LinuxContainerSecurityContext | None
    unmasked: bool
    resources: cri.LinuxContainerResources | None
    namespaces: cri.NamespaceOption | None
    stop_signal: "cri.Signal | None"


class ContainerOptions(SpecOptions, total=False):
    """The arguments of `RequestBuilder.container` except the image, for functions that pass them on."""

    name: str
    pod: cri.PodSandboxMetadata | None
    attempt: int


@dataclass(frozen=True)
class RequestBuilder:
    """Builds configurations that belong to one run.

    Attributes:
        run: whose label all objects have.
        logs: parent of the sandboxes' log directories.
        cgroups: writes the cgroup parent of a pod for this runtime.
        hugepages: page sizes of the node's kernel, each of which the kubelet limits for every container.
        names: gives names to what a test does not name.
    """

    run: RunIdentity
    logs: Path
    cgroups: CgroupParents
    hugepages: Sequence[str] = ()
    names: RequestNames = field(default_factory=RequestNames)

    def sandbox(
        self,
        name: str = "",
        *,
        namespace: str | None = None,
        uid: str = "",
        attempt: int = 0,
        hostname: str | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        dns_config: cri.DNSConfig | None = None,
        port_mappings: Sequence[cri.PortMapping] = (),
        namespaces: cri.NamespaceOption | None = None,
        security_context: cri.LinuxSandboxSecurityContext | None = None,
        sysctls: Mapping[str, str] | None = None,
    ) -> cri.PodSandboxConfig:
        """Return the configuration of a best-effort pod, and create its log directory, as the kubelet does.

        A pod on the host's network has an empty hostname by default, also like the kubelet's.
        """
        uid = uid or self.names.uid()
        name = name or self.names.pod(uid)
        namespace = self.names.namespace if namespace is None else namespace
        namespaces = namespaces or cri.NamespaceOption(network=cri.POD, pid=cri.CONTAINER, ipc=cri.POD)
        if hostname is None:
            hostname = "" if namespaces.network == cri.NODE else safe_hostname(name)
        log_directory = self.logs / f"{namespace or 'none'}_{safe_hostname(name)}_{uid}"
        log_directory.mkdir(parents=True, exist_ok=True)
        context = cri.LinuxSandboxSecurityContext()
        if security_context is not None:
            context.CopyFrom(security_context)
        if not context.HasField("namespace_options"):
            context.namespace_options.CopyFrom(namespaces)
        if not context.HasField("seccomp"):
            context.seccomp.profile_type = cri.SecurityProfile.RuntimeDefault
        metadata = cri.PodSandboxMetadata(name=name, uid=uid, namespace=namespace, attempt=attempt)
        return cri.PodSandboxConfig(
            metadata=metadata,
            hostname=hostname,
            log_directory=str(log_directory),
            dns_config=dns_config,
            port_mappings=port_mappings,
            labels={
                **self.names.labels(),
                **self.run.labels,
                **kubelet_keys.of_pod(metadata),
                **(labels or {}),
            },
            annotations={
                **self.names.annotations(),
                **kubelet_keys.pod_annotations(),
                **(annotations or {}),
            },
            linux=cri.LinuxPodSandboxConfig(
                cgroup_parent=self.cgroups.of_pod(uid),
                security_context=context,
                sysctls=sysctls or {},
                overhead=cri.LinuxContainerResources(),
                resources=cri.LinuxContainerResources(
                    cpu_shares=BEST_EFFORT_CPU_SHARES, cpu_period=CPU_PERIOD
                ),
            ),
        )

    def container(
        self,
        image: ImageName,
        name: str = "",
        *,
        pod: cri.PodSandboxMetadata | None = None,
        attempt: int = 0,
        command: Sequence[str] = (),
        args: Sequence[str] = (),
        working_dir: str = "",
        envs: Mapping[str, str] | Sequence[cri.KeyValue] | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        mounts: Sequence[cri.Mount] = (),
        devices: Sequence[cri.Device] = (),
        stdin: bool = False,
        stdin_once: bool = False,
        tty: bool = False,
        log_path: str | None = None,
        security_context: cri.LinuxContainerSecurityContext | None = None,
        unmasked: bool = False,
        resources: cri.LinuxContainerResources | None = None,
        namespaces: cri.NamespaceOption | None = None,
        stop_signal: "cri.Signal | None" = None,
    ) -> cri.ContainerConfig:
        """Return the configuration of an unprivileged best-effort container.

        Args:
            image: to run.
            name: of the container; unique by default.
            pod: that it belongs to; its labels are copied if it is given.
            attempt: how many attempts the kubelet made before.
            command: replaces the image's entrypoint.
            args: replace the image's command.
            working_dir: empty for the image's.
            envs: environment variables, in order.
            labels: in addition to the run's and the kubelet's.
            annotations: in addition to the kubelet's.
            mounts: host paths in the container.
            devices: host devices in the container.
            stdin: whether standard input stays open.
            stdin_once: whether it is closed after the first attach.
            tty: whether the process has a terminal.
            log_path: relative to the sandbox's log directory; `<name>_<attempt>.log` by default.
            security_context: merged over the kubelet's defaults.
            unmasked: omit the paths that the kubelet masks or makes read-only.
            resources: merged over the kubelet's defaults.
            namespaces: must repeat the sandbox's pid mode; CONTAINER by default, as in `sandbox`.
            stop_signal: overrides the image's.
        """
        name = name or self.names.container()
        context = cri.LinuxContainerSecurityContext(
            namespace_options=namespaces
            or cri.NamespaceOption(network=cri.POD, pid=cri.CONTAINER, ipc=cri.POD),
            masked_paths=MASKED_PATHS,
            readonly_paths=READONLY_PATHS,
            seccomp=cri.SecurityProfile(profile_type=cri.SecurityProfile.Unconfined),
        )
        if unmasked or (security_context is not None and security_context.privileged):
            context.ClearField("masked_paths")
            context.ClearField("readonly_paths")
        if security_context is not None:
            if security_context.HasField("seccomp"):
                # RuntimeDefault is 0, which a merge would not copy
                context.ClearField("seccomp")
            context.MergeFrom(security_context)
        limits = cri.LinuxContainerResources(
            cpu_shares=BEST_EFFORT_CPU_SHARES,
            cpu_period=CPU_PERIOD,
            oom_score_adj=BEST_EFFORT_OOM_SCORE,
            hugepage_limits=[cri.HugepageLimit(page_size=size, limit=0) for size in self.hugepages],
        )
        if resources is not None:
            if resources.hugepage_limits:
                limits.ClearField("hugepage_limits")
            limits.MergeFrom(resources)
        pairs = (
            [cri.KeyValue(key=key, value=value.encode()) for key, value in envs.items()]
            if isinstance(envs, Mapping)
            else envs or ()
        )
        config = cri.ContainerConfig(
            metadata=cri.ContainerMetadata(name=name, attempt=attempt),
            image=image.spec(),
            command=command,
            args=args,
            working_dir=working_dir,
            envs=pairs,
            labels={
                **self.names.labels(),
                **self.run.labels,
                **(kubelet_keys.of_pod(pod) if pod is not None else {}),
                kubelet_keys.CONTAINER_NAME: name,
                **(labels or {}),
            },
            annotations={
                **self.names.annotations(),
                **kubelet_keys.container_annotations(attempt),
                **(annotations or {}),
            },
            mounts=mounts,
            devices=devices,
            stdin=stdin,
            stdin_once=stdin_once,
            tty=tty,
            log_path=self.names.log_path(name, attempt) if log_path is None else log_path,
            linux=cri.LinuxContainerConfig(resources=limits, security_context=context),
        )
        if stop_signal is not None:
            config.stop_signal = stop_signal
        return config


def safe_hostname(name: str) -> str:
    """Return a name reduced to the characters of a hostname, at most 63."""
    return re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")[:63].strip("-") or "pod"
