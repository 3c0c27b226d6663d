"""SYS: kernel parameters of a pod."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    FIRST_PROCESS,
    Capability,
    Containers,
    RecordVariant,
    Runtime,
    Sandboxes,
    SharedContainers,
    blocked,
    lingering,
    may_be_refused,
    requirement,
    requires,
)

SAFE = {
    "kernel.shm_rmid_forced": "1",
    "net.ipv4.ip_local_port_range": "20000\t21000",
    "net.ipv4.ip_unprivileged_port_start": "79",
    "net.ipv4.tcp_syncookies": "0",
    "net.ipv4.ping_group_range": "7\t8",
    "net.ipv4.ip_local_reserved_ports": "20500",
    "net.ipv4.tcp_keepalive_time": "601",
    "net.ipv4.tcp_fin_timeout": "31",
    "net.ipv4.tcp_keepalive_intvl": "61",
    "net.ipv4.tcp_keepalive_probes": "7",
}
"""The sysctls that Kubernetes allows in every pod, with values that are no defaults; read back with tabs."""
UNSAFE = {
    "kernel.msgmax": "8193",
    "kernel.msgmnb": "16385",
    "kernel.msgmni": "1001",
    "kernel.shmmax": "1073741825",
    "kernel.shmall": "262145",
    "kernel.shmmni": "4097",
    "kernel.sem": "251\t32001\t33\t129",
    "fs.mqueue.msg_max": "11",
    "fs.mqueue.queues_max": "257",
    "net.core.somaxconn": "1025",
    "net.ipv4.conf.all.forwarding": "1",
}
"""Other namespaced sysctls, which the kubelet's option --allowed-unsafe-sysctls must name."""
NOT_NAMESPACED = "vm.swappiness"
"""A kernel parameter of the whole machine."""
NETWORK_OF_THE_NODE = cri.NamespaceOption(network=cri.NODE, pid=cri.CONTAINER, ipc=cri.POD)
IPC_OF_THE_NODE = cri.NamespaceOption(network=cri.POD, pid=cri.CONTAINER, ipc=cri.NODE)


def file_of(name: str) -> Path:
    """Return the file of a kernel parameter."""
    return Path("/proc/sys", *name.split("."))


def host_value(name: str) -> str:
    """Return the value of a kernel parameter on this machine."""
    return file_of(name).read_text(encoding="ascii").strip()


@contextmanager
def unchanged_on_host(name: str) -> Iterator[None]:
    """Assert that the block does not change a parameter of this machine, and restore it if it does.

    Raises:
        AssertionError: the value has changed.
    """
    before = host_value(name)
    try:
        yield
        after = host_value(name)
    finally:
        if host_value(name) != before:
            file_of(name).write_text(before, encoding="ascii")
    assert after == before


def of_this_kernel(sysctls: dict[str, str]) -> dict[str, str]:
    """Return those parameters that this kernel has."""
    return {name: value for name, value in sysctls.items() if file_of(name).exists()}


def questions(sysctls: dict[str, str]) -> dict[str, str]:
    """Return the commands that print the values of parameters."""
    return {name: f"cat {file_of(name)}" for name in sysctls}


@requires(Capability.SHARED_KERNEL)
@pytest.mark.parametrize(
    ("sysctls", "name"),
    [
        *(pytest.param(SAFE, name, marks=requirement("SYS-01"), id=name) for name in SAFE),
        *(pytest.param(UNSAFE, name, marks=requirement("SYS-02"), id=name) for name in UNSAFE),
    ],
)
def test_a_sysctl_is_set_in_the_pod(
    shared_containers: SharedContainers, sysctls: dict[str, str], name: str
) -> None:
    """A kernel parameter of the pod's namespaces MUST have the requested value, whether Kubernetes calls it
    safe or not: the kubelet decides which ones are allowed.

    Source: LinuxPodSandboxConfig.sysctls.
    """
    requested = of_this_kernel(sysctls)
    if name not in requested:
        blocked(f"this kernel has no {name}")
    pod = shared_containers.sandbox(
        # requests have spaces between numbers, the kernel prints tabs
        sysctls={key: value.replace("\t", " ") for key, value in requested.items()}
    )

    process = shared_containers.process(FIRST_PROCESS, in_sandbox=pod, questions=questions(requested))

    assert process.answer(name).split() == requested[name].split()


@requirement("SYS-03/host")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
# one runtime joined sysctls by `+` for its helper program, CVE-2022-0811
@pytest.mark.parametrize("separator", [None, "+", "\n", " "], ids=["alone", "plus", "newline", "space"])
def test_a_sysctl_of_the_whole_machine_is_not_changed(sandboxes: Sandboxes, separator: str | None) -> None:
    """A kernel parameter outside of namespaces MUST NOT be changed for a pod, as this would change the node:
    neither by its own name nor inside the value of another one, after any separator.

    Source: LinuxPodSandboxConfig.sysctls: parameters of the sandbox's namespaces.
    """
    before = int(host_value(NOT_NAMESPACED))
    # 100 is the maximum before Linux 5.8
    new_value = str(before + 1 if before < 100 else before - 1)
    sysctls = {NOT_NAMESPACED: new_value}
    if separator is not None:
        # in the middle, as a runtime that joins sysctls may quote the whole value
        hidden = separator.join(["33", f"{NOT_NAMESPACED}={new_value}", "net.ipv4.tcp_fin_timeout=33"])
        sysctls = {"net.ipv4.tcp_fin_timeout": hidden}

    with unchanged_on_host(NOT_NAMESPACED), may_be_refused():
        sandboxes.attempt(sandboxes.config(sysctls=sysctls))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            NOT_NAMESPACED, marks=[requirement("SYS-03/form"), requires(Capability.SHARED_KERNEL)], id="node"
        ),
        pytest.param("nosuch.parameter", marks=requirement("SYS-04/other-names"), id="absent"),
    ],
)
def test_form_of_a_sysctl_of_no_namespace(
    sandboxes: Sandboxes, record_variant: RecordVariant, name: str
) -> None:
    """A pod with a kernel parameter that is unknown or not namespaced MAY be rejected, or run without it.

    Source: LinuxPodSandboxConfig.sysctls; the CRI does not say.
    """
    pod = None

    with may_be_refused():
        value = host_value(name) if file_of(name).exists() else "1"
        pod = sandboxes.attempt(sandboxes.config(sysctls={name: value}))

    record_variant("refused" if pod is None else "skipped")
    assert pod is None or pod.state() == cri.SANDBOX_READY


@requirement("SYS-04/error")
@pytest.mark.parametrize(
    ("name", "value"),
    [("net.ipv4.tcp_fin_timeout", "not a number"), ("net.ipv4.no_such_parameter", "1")],
    ids=["invalid-value", "unknown-name"],
)
def test_invalid_sysctl_is_refused(runtime: Runtime, sandboxes: Sandboxes, name: str, value: str) -> None:
    """RunPodSandbox MUST reject an invalid value of a kernel parameter, and a parameter that the network
    namespace does not have; no sandbox is left.

    Source: LinuxPodSandboxConfig.sysctls.
    """
    config = sandboxes.marked_config()
    config.linux.sysctls[name] = value

    runtime.refusal(runtime.stub.RunPodSandbox, sandboxes.creation(config))

    ready = [entry.id for entry in sandboxes.created_from(config) if entry.state == cri.SANDBOX_READY]
    assert ready == []


@requirement("SYS-05")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
@pytest.mark.parametrize(
    ("name", "namespaces"),
    [("net.ipv4.tcp_fin_timeout", NETWORK_OF_THE_NODE), ("kernel.msgmax", IPC_OF_THE_NODE)],
    ids=["network", "ipc"],
)
def test_a_sysctl_of_a_namespace_of_the_node_is_not_changed(
    sandboxes: Sandboxes, name: str, namespaces: cri.NamespaceOption
) -> None:
    """A kernel parameter of a namespace that the pod shares with the node MUST NOT be changed.

    Source: LinuxPodSandboxConfig.sysctls: parameters of the sandbox's own namespaces.
    """
    new_value = str(int(host_value(name)) + 1)

    with unchanged_on_host(name), may_be_refused():
        sandboxes.attempt(sandboxes.config(sysctls={name: new_value}, namespaces=namespaces))


@requirement("SYS-06")
@requires(Capability.SHARED_KERNEL)
def test_form_of_a_sysctl_with_slashes(
    sandboxes: Sandboxes, containers: Containers, record_variant: RecordVariant
) -> None:
    """A kernel parameter whose name has slashes instead of dots MAY be set, skipped or rejected; the node's
    value does not change.

    Source: LinuxPodSandboxConfig.sysctls; the CRI does not say.
    """
    file = file_of("net.ipv4.tcp_fin_timeout")
    before, found = file.read_text(), "refused"

    with may_be_refused():
        pod = sandboxes.attempt(sandboxes.config(sysctls={"net/ipv4/tcp_fin_timeout": "33"}))
        found = containers.running(in_sandbox=pod).output("cat", str(file))

    record_variant({"refused": "refused", "33": "set"}.get(found, "skipped"))
    assert file.read_text() == before


@requirement("SYS-07")
@pytest.mark.parametrize(
    ("name", "value"),
    [("net.ipv4.ip_unprivileged_port_start", "77"), ("net.ipv4.ping_group_range", "5\t6")],
)
def test_requested_sysctl_overrides_the_runtimes_default(
    sandboxes: Sandboxes, containers: Containers, name: str, value: str
) -> None:
    """A requested kernel parameter MUST override the runtime's default, as of unprivileged ports and pings.

    Source: LinuxPodSandboxConfig.sysctls.
    """
    pod = sandboxes.ready(sysctls={name: value.replace("\t", " ")})

    container = containers.exited(in_sandbox=pod, script=lingering(f"cat {file_of(name)}"))

    assert container.log_lines("stdout") == [value]


@requirement("SYS-08")
def test_every_container_of_the_pod_has_its_sysctls(sandboxes: Sandboxes, containers: Containers) -> None:
    """A kernel parameter of the pod MUST have its value in each of its containers, including later ones.

    Source: LinuxPodSandboxConfig.sysctls, of the sandbox and not of one container.
    """
    pod = sandboxes.ready(sysctls={"net.ipv4.tcp_fin_timeout": "33", "kernel.msgmax": "8195"})
    script = f"cat {file_of('net.ipv4.tcp_fin_timeout')} {file_of('kernel.msgmax')}"

    values = [
        containers.exited(in_sandbox=pod, script=lingering(script)).log_lines("stdout") for _ in range(2)
    ]

    assert values == [["33", "8195"]] * 2
