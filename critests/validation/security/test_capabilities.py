"""CAP: the capability sets of a container's processes, and what the kernel lets them do."""

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime, may_be_refused
from critests.fixtures.session import Observe
from critests.fixtures.shared_containers import SharedContainers
from critests.lifecycle.process import EXEC, ProcessStatus
from critests.run.marks import requirement, requires
from critests.run.outcomes import unsupported
from critests.validation.security.contexts import context, outcome, system_call
from critests.validation.security.daemon import as_far_as_the_daemon_can, daemon_capabilities

OF_ROOT = ("bounding", "permitted", "effective")
"""The sets that root's own programs get; ambient stays empty, and of inheritable runtimes differ."""
ATTEMPTS = {
    "set up a link": "ip link set dev lo mtu 65536",
    "change an owner": "touch /tmp/owned.$$ && chown 1:1 /tmp/owned.$$",
    "change the root": system_call("chroot", "/home"),
}


def asking(add: tuple[str, ...] = (), drop: tuple[str, ...] = ()) -> cri.LinuxContainerSecurityContext:
    """Return the security context that asks for changes to the capabilities."""
    return context(capabilities=cri.Capability(add_capabilities=add, drop_capabilities=drop))


def of_root(names: set[str]) -> dict[str, set[str]]:
    """Return the sets of a root process that holds these."""
    return {name: names for name in OF_ROOT}  # noqa: C420 - nobody changes them


def with_every_capability(
    runtime: Runtime, shared: SharedContainers, seen_from: str, drop: tuple[str, ...] = ()
) -> ProcessStatus:
    """Return the process of a container with ALL; a daemon that lacks some itself may refuse that."""
    with as_far_as_the_daemon_can(runtime):
        return shared.process(seen_from, security_context=asking(add=("ALL",), drop=drop)).status


@requirement("CAP-01")
def test_root_gets_a_limited_set(runtime: Runtime, shared: SharedContainers, seen_from: str) -> None:
    """Without changes a root process MUST have fewer capabilities than the daemon, the same ones bounding,
    permitted and effective.

    Source: Capability; the runtime's default.
    """
    held = shared.process(seen_from).status.capabilities

    assert held["bounding"] < daemon_capabilities(runtime)
    assert held["permitted"] == held["effective"] == held["bounding"]


@requirement("CAP-02/added")
def test_added_capabilities_are_in_every_set_of_root(shared: SharedContainers, seen_from: str) -> None:
    """Added capabilities MUST be bounding, permitted and effective, beside those of the default.

    Source: Capability.add_capabilities.
    """
    default = shared.process(seen_from).status.capabilities
    changed = asking(add=("NET_ADMIN", "SYS_PTRACE"))

    held = shared.process(seen_from, security_context=changed).status.capabilities

    wanted = default["bounding"] | {"NET_ADMIN", "SYS_PTRACE"}
    assert {name: held[name] for name in OF_ROOT} == of_root(wanted)


@requirement("CAP-02/added")
def test_a_command_runs_with_what_was_added(runtime: Runtime, containers: Containers) -> None:
    """A command in a container MUST run with the capabilities that were added to the container, effective and
    permitted.

    Source: Capability.add_capabilities, ExecSync.
    """
    container = containers.running(security_context=asking(add=("NET_ADMIN",)))

    answer = runtime.stub.ExecSync(container.exec_request("cat", "/proc/self/status"))

    held = ProcessStatus.parse(answer.stdout.decode()).capabilities
    assert "NET_ADMIN" in held["effective"] & held["permitted"]


@requirement("CAP-02/inheritable")
def test_added_capabilities_that_are_inheritable(shared: SharedContainers, observe: Observe) -> None:
    """A runtime MAY make added capabilities inheritable; several have stopped to.

    Source: Capability.add_capabilities; runtimes differ since inheritable ones were found to do harm.
    """
    held = shared.process(EXEC, security_context=asking(add=("NET_ADMIN",))).status.capabilities

    observe("are inheritable" if "NET_ADMIN" in held["inheritable"] else "are not inheritable")
    assert held["inheritable"] <= held["bounding"]


@requirement("CAP-03")
def test_dropped_capabilities_are_in_no_set(shared: SharedContainers, seen_from: str) -> None:
    """Dropped capabilities MUST be in no set, and the rest of the default MUST stay.

    Source: Capability.drop_capabilities.
    """
    default = shared.process(seen_from).status.capabilities

    held = shared.process(seen_from, security_context=asking(drop=("CHOWN", "SETUID"))).status.capabilities

    assert not [name for name, names in held.items() if names & {"CHOWN", "SETUID"}]
    assert held["bounding"] == default["bounding"] - {"CHOWN", "SETUID"}


@requirement("CAP-04")
@requires(Capability.SHARED_KERNEL)
def test_adding_all_gives_what_the_daemon_has(
    runtime: Runtime, shared: SharedContainers, seen_from: str
) -> None:
    """Adding ALL MUST make every capability of the daemon bounding, permitted and effective.

    Source: Capability.add_capabilities, where ALL stands for every one.
    """
    held = with_every_capability(runtime, shared, seen_from).capabilities

    assert {name: held[name] for name in OF_ROOT} == of_root(daemon_capabilities(runtime))


@requirement("CAP-05")
def test_dropping_all_leaves_nothing(shared: SharedContainers, seen_from: str) -> None:
    """Dropping ALL MUST leave every set empty, of root as well.

    Source: Capability.drop_capabilities, where ALL stands for every one.
    """
    held = shared.process(seen_from, security_context=asking(drop=("ALL",))).status.capabilities

    assert {name: names for name, names in held.items() if names} == {}


@requirement("CAP-05")
def test_what_is_added_to_nothing_is_all_there_is(shared: SharedContainers, seen_from: str) -> None:
    """Dropping ALL and adding one MUST leave that one alone.

    Source: Capability.add_capabilities and drop_capabilities; what restricted pods ask for.
    """
    held = shared.process(
        seen_from, security_context=asking(add=("NET_BIND_SERVICE",), drop=("ALL",))
    ).status.capabilities

    assert {name: held[name] for name in OF_ROOT} == of_root({"NET_BIND_SERVICE"})


@requirement("CAP-06")
@requires(Capability.SHARED_KERNEL)
def test_all_without_one(runtime: Runtime, shared: SharedContainers, seen_from: str) -> None:
    """Adding ALL and dropping one MUST leave every capability of the daemon but that one.

    Source: Capability.add_capabilities and drop_capabilities.
    """
    held = with_every_capability(runtime, shared, seen_from, drop=("SYS_TIME",)).capabilities

    wanted = daemon_capabilities(runtime) - {"SYS_TIME"}
    assert {name: held[name] for name in OF_ROOT} == of_root(wanted)


@requirement("CAP-07")
def test_ambient_capabilities_outlive_the_change_of_user(shared: SharedContainers, seen_from: str) -> None:
    """Ambient capabilities MUST be in every set of a process that is not root.

    Source: Capability.add_ambient_capabilities.
    """
    added = cri.Capability(add_ambient_capabilities=["NET_ADMIN"])
    first = shared.process(EXEC, security_context=context(capabilities=added)).status.capabilities
    if "NET_ADMIN" not in first.get("ambient", ()):
        unsupported("ambient capabilities: those that root asks for are not in its ambient set")

    held = shared.process(seen_from, security_context=context(1000, capabilities=added)).status.capabilities

    assert not [name for name, names in held.items() if "NET_ADMIN" not in names]


@requirement("CAP-08/plain")
@requires(Capability.SHARED_KERNEL)
def test_every_capability_is_known_by_its_plain_name(
    runtime: Runtime, shared: SharedContainers, seen_from: str
) -> None:
    """Every capability that the daemon has MUST be known by its name without CAP_.

    Source: Capability, whose names go without CAP_.
    """
    wanted = daemon_capabilities(runtime)

    held = shared.process(
        seen_from, security_context=asking(add=tuple(sorted(wanted)), drop=("ALL",))
    ).status.capabilities

    assert {name: held[name] for name in OF_ROOT} == of_root(wanted)


@requirement("CAP-08/other-forms")
@pytest.mark.parametrize("name", ["CAP_NET_ADMIN", "net_admin"], ids=["with CAP_", "in small letters"])
def test_other_forms_of_the_name(containers: Containers, observe: Observe, name: str) -> None:
    """A name with CAP_ or in small letters MAY be known, be refused or be ignored.

    Source: Capability; the CRI does not say.
    """
    config = containers.config(security_context=asking(add=(name,)))

    observe("is refused")
    with may_be_refused():
        held = containers.attempt(config).process_status(EXEC).capabilities
        observe("is known" if "NET_ADMIN" in held["bounding"] else "is ignored")
        assert held["permitted"] == held["bounding"]


@requirement("CAP-09")
def test_a_capability_that_does_not_exist(
    runtime: Runtime, shared: SharedContainers, containers: Containers, observe: Observe
) -> None:
    """An unknown capability MAY be refused or be ignored; nothing is granted for it.

    Source: Capability.add_capabilities; the CRI does not say.
    """
    config = containers.config(security_context=asking(add=("NO_SUCH_THING",)))
    default = shared.process(EXEC).status.capabilities

    observe("is refused")
    with may_be_refused():
        held = containers.attempt(config).process_status(EXEC).capabilities
        observe("is ignored")
        assert held == default
        assert held["bounding"] < daemon_capabilities(runtime)


@requirement("CAP-10")
@requires(Capability.SHARED_KERNEL)
def test_the_kernel_allows_what_was_added(shared: SharedContainers, seen_from: str) -> None:
    """With NET_ADMIN a process SHOULD be able to set up a link, which it cannot by default.

    Source: Capability.add_capabilities; capabilities(7).
    """
    default = shared.process(seen_from, questions=ATTEMPTS)

    added = shared.process(seen_from, questions=ATTEMPTS, security_context=asking(add=("NET_ADMIN",)))

    assert default.exit_code("set up a link") != 0
    assert added.exit_code("set up a link") == 0


@requirement("CAP-10")
def test_the_kernel_refuses_what_was_dropped(shared: SharedContainers, seen_from: str) -> None:
    """Without CHOWN and SYS_CHROOT a root process SHOULD be refused what it could do with them.

    Source: Capability.drop_capabilities; capabilities(7).
    """
    able = shared.process(seen_from, questions=ATTEMPTS, security_context=asking(add=("CHOWN", "SYS_CHROOT")))

    unable = shared.process(
        seen_from, questions=ATTEMPTS, security_context=asking(drop=("CHOWN", "SYS_CHROOT"))
    )

    assert (able.exit_code("change an owner"), outcome(able.answer("change the root"))) == (0, (0, 0))
    assert (unable.exit_code("change an owner"), outcome(unable.answer("change the root"))) == (1, (-1, 1))


@requirement("CAP-11")
def test_what_is_added_and_dropped_is_dropped(shared: SharedContainers, seen_from: str) -> None:
    """A capability that is both added and dropped MUST be in no set.

    Source: Capability.drop_capabilities.
    """
    held = shared.process(
        seen_from, security_context=asking(add=("NET_ADMIN", "CHOWN"), drop=("NET_ADMIN", "CHOWN"))
    ).status.capabilities

    assert not [name for name, names in held.items() if names & {"NET_ADMIN", "CHOWN"}]


@requirement("CAP-12")
def test_nothing_is_inheritable_where_nothing_was_asked_for(shared: SharedContainers, seen_from: str) -> None:
    """Without a request for capabilities no process SHOULD have inheritable ones.

    Source: capabilities(7): a program with file capabilities gains what is inheritable. Not stated by the
    CRI.
    """
    assert shared.process(seen_from).status.capabilities["inheritable"] == set()
