"""CAP: the capability sets of a container's processes, and their effect in the kernel."""

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    EXEC,
    Capability,
    Containers,
    ProcessStatus,
    RecordVariant,
    Runtime,
    SharedContainers,
    may_be_refused,
    requirement,
    requires,
    unsupported,
)
from critests.validation.security.contexts import context, error_of, system_call
from critests.validation.security.daemon import blocked_without_daemon_capabilities, daemon_capabilities

ROOT_SETS = ("bounding", "permitted", "effective")
"""The sets of root's programs; the ambient set is empty, and runtimes differ in the inheritable one."""
ATTEMPTS = {
    # the default of lo: nothing changes, but the call needs NET_ADMIN
    "set up a link": "ip link set dev lo mtu 65536",
    "change an owner": "touch /tmp/owned.$$ && chown 1:1 /tmp/owned.$$",
    "change the root": system_call("chroot", "/home"),
}


def changed(add: tuple[str, ...] = (), drop: tuple[str, ...] = ()) -> cri.LinuxContainerSecurityContext:
    """Return the security context that adds and drops capabilities."""
    return context(capabilities=cri.Capability(add_capabilities=add, drop_capabilities=drop))


def root_sets(names: set[str]) -> dict[str, set[str]]:
    """Return the capability sets of a root process that has these capabilities."""
    return {name: names for name in ROOT_SETS}  # noqa: C420 - the sets are not changed


def with_every_capability(
    runtime: Runtime, shared_containers: SharedContainers, seen_from: str, drop: tuple[str, ...] = ()
) -> ProcessStatus:
    """Return the process of a container with ALL; the test is blocked if the daemon lacks some itself."""
    with blocked_without_daemon_capabilities(runtime):
        return shared_containers.process(seen_from, security_context=changed(add=("ALL",), drop=drop)).status


@requirement("CAP-01")
def test_root_has_a_limited_set_of_capabilities(
    runtime: Runtime, shared_containers: SharedContainers, seen_from: str
) -> None:
    """A root process MUST have fewer capabilities than the daemon by default, the same ones in its bounding,
    permitted and effective sets.

    Source: Capability; the runtime's default.
    """
    sets = shared_containers.process(seen_from).status.capabilities

    assert sets["bounding"] < daemon_capabilities(runtime)
    assert sets["permitted"] == sets["effective"] == sets["bounding"]


@requirement("CAP-02/added")
def test_added_capabilities_are_in_every_set_of_root(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """Added capabilities MUST be bounding, permitted and effective, in addition to the default ones.

    Source: Capability.add_capabilities.
    """
    default = shared_containers.process(seen_from).status.capabilities

    # runtimes have neither in their default set
    sets = shared_containers.process(
        seen_from, security_context=changed(add=("NET_ADMIN", "SYS_PTRACE"))
    ).status.capabilities

    expected = default["bounding"] | {"NET_ADMIN", "SYS_PTRACE"}
    assert {name: sets[name] for name in ROOT_SETS} == root_sets(expected)


@requirement("CAP-02/added")
def test_command_has_the_added_capabilities(runtime: Runtime, containers: Containers) -> None:
    """A command run with ExecSync MUST have the capabilities that were added to the container in its
    effective and permitted sets.

    Source: Capability.add_capabilities, ExecSync.
    """
    container = containers.running(security_context=changed(add=("NET_ADMIN",)))

    response = runtime.stub.ExecSync(container.exec_request("cat", "/proc/self/status"))

    sets = ProcessStatus.parse(response.stdout.decode()).capabilities
    assert "NET_ADMIN" in sets["effective"] & sets["permitted"]


@requirement("CAP-02/inheritable")
def test_form_of_the_inheritable_set_with_added_capabilities(
    shared_containers: SharedContainers, record_variant: RecordVariant
) -> None:
    """A runtime MAY make added capabilities inheritable; several no longer do.

    Source: Capability.add_capabilities; runtimes differ since inheritable ones were found to be harmful.
    """
    sets = shared_containers.process(EXEC, security_context=changed(add=("NET_ADMIN",))).status.capabilities

    record_variant("are inheritable" if "NET_ADMIN" in sets["inheritable"] else "are not inheritable")
    assert sets["inheritable"] <= sets["bounding"]


@requirement("CAP-03")
def test_dropped_capabilities_are_in_no_set(shared_containers: SharedContainers, seen_from: str) -> None:
    """Dropped capabilities MUST NOT be in any set, and the other default ones MUST stay in the bounding set.

    Source: Capability.drop_capabilities.
    """
    default = shared_containers.process(seen_from).status.capabilities

    # runtimes have both in their default set
    sets = shared_containers.process(
        seen_from, security_context=changed(drop=("CHOWN", "SETUID"))
    ).status.capabilities

    assert not [name for name, names in sets.items() if names & {"CHOWN", "SETUID"}]
    assert sets["bounding"] == default["bounding"] - {"CHOWN", "SETUID"}


@requirement("CAP-04")
@requires(Capability.SHARED_KERNEL)
def test_adding_all_grants_every_capability_of_the_daemon(
    runtime: Runtime, shared_containers: SharedContainers, seen_from: str
) -> None:
    """Adding ALL MUST put every capability of the daemon into the bounding, permitted and effective sets.

    Source: Capability.add_capabilities, where ALL means every capability.
    """
    sets = with_every_capability(runtime, shared_containers, seen_from).capabilities

    assert {name: sets[name] for name in ROOT_SETS} == root_sets(daemon_capabilities(runtime))


@requirement("CAP-05")
def test_dropping_all_leaves_no_capability(shared_containers: SharedContainers, seen_from: str) -> None:
    """Dropping ALL MUST leave every set empty, also for root.

    Source: Capability.drop_capabilities, where ALL means every capability.
    """
    sets = shared_containers.process(seen_from, security_context=changed(drop=("ALL",))).status.capabilities

    assert {name: names for name, names in sets.items() if names} == {}


@requirement("CAP-05")
def test_dropping_all_and_adding_one_leaves_that_one(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """Dropping ALL and adding one capability MUST leave that one alone.

    Source: Capability.add_capabilities and drop_capabilities; the Restricted pod standard requires it.
    """
    sets = shared_containers.process(
        seen_from, security_context=changed(add=("NET_BIND_SERVICE",), drop=("ALL",))
    ).status.capabilities

    assert {name: sets[name] for name in ROOT_SETS} == root_sets({"NET_BIND_SERVICE"})


@requirement("CAP-06")
@requires(Capability.SHARED_KERNEL)
def test_adding_all_and_dropping_one_leaves_the_others(
    runtime: Runtime, shared_containers: SharedContainers, seen_from: str
) -> None:
    """Adding ALL and dropping one capability MUST leave every other capability of the daemon.

    Source: Capability.add_capabilities and drop_capabilities.
    """
    sets = with_every_capability(runtime, shared_containers, seen_from, drop=("SYS_TIME",)).capabilities

    expected = daemon_capabilities(runtime) - {"SYS_TIME"}
    assert {name: sets[name] for name in ROOT_SETS} == root_sets(expected)


@requirement("CAP-07")
def test_ambient_capabilities_are_in_every_set_of_other_users(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """Ambient capabilities MUST be in every set of a process that is not root.

    Source: Capability.add_ambient_capabilities.
    """
    added = cri.Capability(add_ambient_capabilities=["NET_ADMIN"])
    first = shared_containers.process(EXEC, security_context=context(capabilities=added)).status.capabilities
    # kernels before 4.3 have no ambient set
    if "NET_ADMIN" not in first.get("ambient", ()):
        unsupported("ambient capabilities: those that a root process requests are not in its ambient set")

    sets = shared_containers.process(
        seen_from, security_context=context(1000, capabilities=added)
    ).status.capabilities

    assert not [name for name, names in sets.items() if "NET_ADMIN" not in names]


@requirement("CAP-08/plain")
@requires(Capability.SHARED_KERNEL)
def test_every_capability_is_accepted_without_the_prefix(
    runtime: Runtime, shared_containers: SharedContainers, seen_from: str
) -> None:
    """A runtime MUST accept every capability of the daemon by its name without CAP_.

    Source: Capability, whose names have no prefix CAP_.
    """
    expected = daemon_capabilities(runtime)

    sets = shared_containers.process(
        seen_from, security_context=changed(add=tuple(sorted(expected)), drop=("ALL",))
    ).status.capabilities

    assert {name: sets[name] for name in ROOT_SETS} == root_sets(expected)


@requirement("CAP-08/other-forms")
@pytest.mark.parametrize("name", ["CAP_NET_ADMIN", "net_admin"], ids=["with CAP_", "in lower case"])
def test_other_forms_of_a_capability_name(
    containers: Containers, record_variant: RecordVariant, name: str
) -> None:
    """A capability's name with CAP_ or in lower case MAY be accepted, rejected or ignored.

    Source: Capability; the CRI does not say.
    """
    config = containers.config(security_context=changed(add=(name,)))

    record_variant("is refused")
    with may_be_refused():
        sets = containers.attempt(config).process_status(EXEC).capabilities
        record_variant("is known" if "NET_ADMIN" in sets["bounding"] else "is ignored")
        assert sets["permitted"] == sets["bounding"]


@requirement("CAP-09")
def test_unknown_capability(
    runtime: Runtime,
    shared_containers: SharedContainers,
    containers: Containers,
    record_variant: RecordVariant,
) -> None:
    """An unknown capability MAY be rejected or ignored; no capability is granted for it.

    Source: Capability.add_capabilities; the CRI does not say.
    """
    config = containers.config(security_context=changed(add=("NO_SUCH_THING",)))
    default = shared_containers.process(EXEC).status.capabilities

    record_variant("is refused")
    with may_be_refused():
        sets = containers.attempt(config).process_status(EXEC).capabilities
        record_variant("is ignored")
        assert sets == default
        assert sets["bounding"] < daemon_capabilities(runtime)


@requirement("CAP-10")
@requires(Capability.SHARED_KERNEL)
def test_kernel_permits_what_an_added_capability_allows(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """A process with NET_ADMIN SHOULD be able to configure a link, which it cannot by default.

    Source: Capability.add_capabilities; capabilities(7).
    """
    default = shared_containers.process(seen_from, questions=ATTEMPTS)

    added = shared_containers.process(
        seen_from, questions=ATTEMPTS, security_context=changed(add=("NET_ADMIN",))
    )

    assert default.exit_code("set up a link") != 0
    assert added.exit_code("set up a link") == 0


@requirement("CAP-10")
def test_kernel_denies_what_a_dropped_capability_allows(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """A root process without CHOWN and SYS_CHROOT SHOULD fail to change an owner and its root directory.

    Source: Capability.drop_capabilities; capabilities(7).
    """
    allowed = shared_containers.process(
        seen_from, questions=ATTEMPTS, security_context=changed(add=("CHOWN", "SYS_CHROOT"))
    )

    denied = shared_containers.process(
        seen_from, questions=ATTEMPTS, security_context=changed(drop=("CHOWN", "SYS_CHROOT"))
    )

    assert (allowed.exit_code("change an owner"), error_of(allowed.answer("change the root"))) == (0, "")
    assert (denied.exit_code("change an owner"), error_of(denied.answer("change the root"))) == (1, "EPERM")


@requirement("CAP-11")
def test_capability_that_is_added_and_dropped_is_dropped(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """A capability that is both added and dropped MUST NOT be in any set.

    Source: Capability.drop_capabilities.
    """
    sets = shared_containers.process(
        seen_from, security_context=changed(add=("NET_ADMIN", "CHOWN"), drop=("NET_ADMIN", "CHOWN"))
    ).status.capabilities

    assert not [name for name, names in sets.items() if names & {"NET_ADMIN", "CHOWN"}]


@requirement("CAP-12")
def test_no_capability_is_inheritable_by_default(shared_containers: SharedContainers, seen_from: str) -> None:
    """A process SHOULD NOT have inheritable capabilities unless the request adds capabilities.

    Source: capabilities(7): a program with file capabilities gains inheritable ones. Not stated by the CRI.
    """
    assert shared_containers.process(seen_from).status.capabilities["inheritable"] == set()
