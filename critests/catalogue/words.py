"""The enumerations that all packages use: levels, outcomes, areas and capabilities.

Standard library only, so that the run record and the reports can use them without pytest or gRPC.
"""

from enum import StrEnum, unique


@unique
class Level(StrEnum):
    """How binding an aspect of a requirement is for a runtime."""

    MUST = "MUST"
    """A breach is a failure."""
    SHOULD = "SHOULD"
    """A breach is a warning."""
    OPT = "OPT"
    """An optional feature: binding (like MUST) if its detection finds it, `unsupported` otherwise."""
    DIV = "DIV"
    """The API leaves a choice and runtimes differ: the observed variant is recorded; only a hang, crash or
    leak fails.
    """


@unique
class Outcome(StrEnum):
    """The outcome of one test, or of one requirement. See `worst` for their order."""

    PASSED = "passed"
    """The promise holds."""
    FAILED = "failed"
    """A MUST is broken."""
    WARNED = "warned"
    """A SHOULD, or a promise that is our engineering judgement (†), is broken."""
    UNSUPPORTED = "unsupported"
    """An optional feature is not offered, or the runtime is not proven to know the field."""
    BLOCKED = "blocked"
    """Cannot be judged here; the reason names the missing capability or the broken requirement."""
    KNOWN = "known"
    """Listed in the runtime's expectations."""
    DISABLED = "disabled"
    """Deselected by the user."""
    ERROR = "error"
    """The harness failed; never counted against the runtime."""


WORST_FIRST = (
    Outcome.ERROR,
    Outcome.FAILED,
    Outcome.KNOWN,
    Outcome.WARNED,
    Outcome.PASSED,
    Outcome.BLOCKED,
    Outcome.UNSUPPORTED,
    Outcome.DISABLED,
)


def worst(outcomes: list[Outcome]) -> Outcome:
    """Return the verdict of a requirement from the outcomes of its tests.

    Raises:
        ValueError: there is no outcome to judge by.
    """
    if not outcomes:
        msg = "a verdict needs at least one outcome"
        raise ValueError(msg)
    return min(outcomes, key=WORST_FIRST.index)


@unique
class Area(StrEnum):
    """The part of the API that a group of requirements belongs to; also the folder of its tests."""

    RUNTIME = "runtime"
    SANDBOXES = "sandboxes"
    CONTAINERS = "containers"
    IMAGES = "images"
    STREAMING = "streaming"
    NETWORKING = "networking"
    SECURITY = "security"
    MOUNTS = "mounts"
    RESOURCES = "resources"
    KUBELET = "kubelet"


@unique
class Capability(StrEnum):
    """What a runtime or its machine may or may not offer. Tests name the capability, never the runtime."""

    # reported or shown by the runtime
    POD_NETWORK = "pod network"
    """NetworkReady is true: pods get an address of their own."""
    HOST_PORTS = "host ports"
    """The pod network maps host ports."""
    DUAL_STACK = "dual stack"
    """Pods get an address of each family."""
    RUNTIME_CONFIG = "runtime config"
    """RuntimeConfig is implemented and names a cgroup driver."""
    RUNTIME_HANDLERS = "runtime handlers"
    """Status lists runtime handlers."""
    RECURSIVE_READ_ONLY_MOUNTS = "recursive read-only mounts"
    USER_NAMESPACES = "user namespaces"
    USER_NAMESPACES_HOST_NETWORK = "user namespaces with host network"
    MOUNT_OPTIONS = "mount options"
    SUPPLEMENTAL_GROUPS_POLICY = "supplemental groups policy"
    EVENTS = "container events"
    STREAMING_LISTS = "streaming lists"
    POD_STATS = "pod stats"
    METRICS = "pod metrics"
    CHECKPOINT = "checkpoint"
    CHECKPOINT_IMAGES = "restore from an image"
    """CreateContainer accepts an archive of CheckpointContainer in place of an image."""
    POD_CHECKPOINT = "pod checkpoint"
    POD_RESTORE = "pod restore"
    STOP_SIGNAL = "stop signal"
    """ContainerStatus reports the effective stop signal."""
    IMAGE_ID = "image id"
    """ContainerStatus reports an image id."""
    IMAGE_VOLUMES = "image volumes"
    """An image can be mounted into a container."""
    IMAGE_SUB_PATHS = "image sub paths"
    """A directory of an image can be mounted into a container."""
    EXEC_WEBSOCKET = "exec over WebSocket"
    SANDBOX_PROCESS = "sandbox process"
    """A sandbox has its own process (a pause container)."""
    SHARED_PROCESSES = "shared processes"
    """A pod with one PID namespace starts: some runtimes give it a process with a lowered oom_score_adj, for
    which the daemon needs CAP_SYS_RESOURCE.
    """
    POD_RESOURCE_UPDATES = "pod resource updates"
    """UpdatePodSandboxResources is implemented."""
    CDI = "CDI"
    """Devices are found by their names in specifications of the Container Device Interface."""
    SUITE_REGISTRY = "suite registry"
    """The runtime can pull from the suite's own registry over plain HTTP."""
    # offered by the machine
    SAME_HOST = "same host"
    """The daemon runs on this machine, with the same files, addresses and names."""
    SHARED_KERNEL = "shared kernel"
    """Containers share this machine's kernel, so that their processes, namespaces and cgroups are visible
    from outside; under gVisor or in a virtual machine they have their own kernel.
    """
    ROOT = "root"
    """This process may read other processes' /proc entries and enter namespaces."""
    CGROUP_V2 = "cgroup v2"
    SWAP_ACCOUNTING = "swap accounting"
    """The memory controller of cgroups counts and limits swap."""
    HUGE_PAGES = "huge pages"
    """The hugetlb controller of cgroups is available."""
    APPARMOR = "AppArmor"
    SELINUX = "SELinux"
    SECCOMP = "seccomp"
    IPV6 = "IPv6"
    CRIU = "CRIU"
    """Nothing on this machine is known to prevent checkpoints of running processes."""
    DAEMON_SYS_RESOURCE = "daemon has CAP_SYS_RESOURCE"
    """The daemon may lower oom_score_adj."""
    # allowed by the user
    MUTATING = "changes allowed"
    """The run may create objects (not --read-only, no live kubelet)."""
    DISRUPTIVE = "disruption allowed"
    """The run may restart or starve the daemon (--disruptive, or a private runtime)."""
