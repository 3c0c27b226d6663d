"""How to get a missing capability, if the administrator of the machine can change it.

Versions are those of the projects' own pages: of user namespaces containerd's docs/user-namespaces and the
page of Kubernetes on them (for CRI-O), of recursively read-only mounts runc 1.1 with Linux 5.12
(moby/moby#44978), which containerd passes on since 2.0 (containerd/containerd#9787). CRI-O's options are in
what `crio config` prints.
"""

from typing import Final

from critests.catalogue.words import Capability

REMEDIES: Final = {
    Capability.POD_NETWORK: "install the CNI plugins, and a network of theirs in /etc/cni/net.d",
    Capability.HOST_PORTS: "install CNI's portmap and iptables, and name portmap in the network of the pods",
    Capability.DUAL_STACK: "give the network of the pods a range of each family",
    Capability.RECURSIVE_READ_ONLY_MOUNTS: "Linux 5.12, runc 1.1, and containerd 2.0 or another runtime that"
    " passes them on",
    Capability.USER_NAMESPACES: "Linux 6.3, runc 1.2 or crun 1.9, and containerd 2.0 or CRI-O 1.25",
    Capability.EVENTS: "containerd 1.7; for CRI-O enable_pod_events in its configuration",
    Capability.CHECKPOINT: "install criu; for CRI-O enable_criu_support in its configuration",
    Capability.CRIU: "a kernel and privileges with which `criu dump` works on a process",
    Capability.SUITE_REGISTRY: "let the runtime reach that address over plain HTTP, or copy the images to a"
    " registry that it may use (critests images) and give --image-prefix",
    Capability.SAME_HOST: "run critests on the machine of the runtime, in its PID and user namespaces",
    Capability.SHARED_KERNEL: "run critests on the machine of the runtime; in a sandbox with a kernel of its"
    " own (gVisor, a virtual machine) only what is seen from inside can be judged",
    Capability.ROOT: "run critests as root",
    Capability.CGROUP_V2: "boot with systemd.unified_cgroup_hierarchy=1",
    Capability.APPARMOR: "boot with apparmor=1 security=apparmor, with the package apparmor installed",
    Capability.SELINUX: "a kernel with SELinux on, and a runtime that is configured to use it",
    Capability.IPV6: "boot without ipv6.disable=1",
    Capability.DAEMON_SYS_RESOURCE: "start the daemon with CAP_SYS_RESOURCE (in a container: --cap-add"
    " SYS_RESOURCE)",
    Capability.MUTATING: "leave out --read-only",
    Capability.DISRUPTIVE: "give --disruptive, or test a private runtime with --node",
}
