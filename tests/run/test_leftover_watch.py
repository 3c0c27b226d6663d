"""When the watch looks for leftovers, of which objects, and how it reports them."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from critests.api import api_pb2 as cri
from critests.client.call_recording import Call
from critests.node.cleanup.object_leftovers import ObjectNames, Places, Trace, TraceKind
from critests.node.observing.host_settings import HostSettings
from critests.run import leftover_watch
from critests.run.leftover_watch import LeftoverWatch


class Machine:
    """What is left on a machine, and how often it was inspected."""

    def __init__(self) -> None:
        self.left: list[Trace] = []
        self.looked: list[list[ObjectNames]] = []
        self.gone_after = 0
        self.sem = ["1"]

    def settings(self) -> HostSettings:
        return HostSettings({"kernel.sem": self.sem.pop() if len(self.sem) > 1 else self.sem[0]}, {})

    def look(self, objects: Sequence[ObjectNames], _places: Places) -> list[Trace]:
        self.looked.append(list(objects))
        if self.gone_after and len(self.looked) > self.gone_after:
            return []
        return [trace for trace in self.left if trace.object_id in {each.id for each in objects}]


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def watch(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> LeftoverWatch:
    monkeypatch.setattr(leftover_watch, "GRACE_SECONDS", 0.2)
    return LeftoverWatch(Places, look=machine.look, read_settings=machine.settings)


def call(request: object, response: object = None, code: str = "OK") -> Call:
    return Call("", request, response, code, "", 0.0, 0.0)  # type: ignore[arg-type]  # any message


def run(sandbox: str) -> Call:
    return call(cri.RunPodSandboxRequest(), cri.RunPodSandboxResponse(pod_sandbox_id=sandbox))


def create(container: str, sandbox: str, log: str = "") -> Call:
    return call(
        cri.CreateContainerRequest(
            pod_sandbox_id=sandbox,
            config=cri.ContainerConfig(log_path=log),
            sandbox_config=cri.PodSandboxConfig(log_directory="/logs"),
        ),
        cri.CreateContainerResponse(container_id=container),
    )


def remove(sandbox: str, code: str = "OK") -> Call:
    return call(cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox), cri.RemovePodSandboxResponse(), code)


def remove_container(container: str) -> Call:
    return call(cri.RemoveContainerRequest(container_id=container), cri.RemoveContainerResponse())


def after(watch: LeftoverWatch, *calls: Call) -> dict[str, list[str]]:
    for each in calls:
        watch.follow(each)
    return {found.aspect: list(found.things) for found in watch.take()}


def test_leftovers_break_the_requirement_that_demands_their_removal(
    watch: LeftoverWatch, machine: Machine
) -> None:
    machine.left = [
        Trace(TraceKind.CGROUP, "cgroup", "pod"),
        Trace(TraceKind.NAMESPACE, "pin", "pod"),
        Trace(TraceKind.ADDRESS, "lease", "pod"),
        Trace(TraceKind.PROCESS, "1 (monitor)", "one"),
        Trace(TraceKind.MOUNT, "rootfs", "one"),
    ]

    assert after(watch, run("pod"), create("one", "pod"), remove("pod")) == {
        "SBX-27": ["cgroup cgroup"],
        "SBX-20": ["pinned namespace pin"],
        "NET-40": ["lease of an address lease"],
        "CTR-37": ["process 1 (monitor)"],
        "MNT-32": ["mount rootfs"],
    }


def test_without_leftovers_the_machine_is_looked_at_once(watch: LeftoverWatch, machine: Machine) -> None:
    assert after(watch, run("pod"), remove("pod")) == {}
    assert len(machine.looked) == 1


def test_without_a_removal_the_machine_is_not_looked_at(watch: LeftoverWatch, machine: Machine) -> None:
    assert after(watch, run("pod"), remove("pod", code="UNKNOWN"), create("one", "pod")) == {}
    assert machine.looked == []


def test_what_others_created_does_not_count(watch: LeftoverWatch, machine: Machine) -> None:
    machine.left = [Trace(TraceKind.CGROUP, "cgroup", "other")]

    assert after(watch, remove("other"), remove_container("other")) == {}


def test_what_was_looked_at_is_not_looked_at_again(watch: LeftoverWatch, machine: Machine) -> None:
    machine.left = [Trace(TraceKind.CGROUP, "cgroup", "pod")]
    after(watch, run("pod"), remove("pod"))

    assert after(watch, remove("pod")) == {}


def test_what_goes_within_the_grace_period_is_no_leftover(watch: LeftoverWatch, machine: Machine) -> None:
    machine.left = [Trace(TraceKind.PROCESS, "1 (shim)", "pod")]
    machine.gone_after = 2

    assert after(watch, run("pod"), remove("pod")) == {}
    assert len(machine.looked) == 3


def test_while_waiting_only_what_is_left_is_looked_for(watch: LeftoverWatch, machine: Machine) -> None:
    machine.left = [Trace(TraceKind.PROCESS, "1 (shim)", "one")]
    after(watch, run("pod"), create("one", "pod"), remove("pod"))

    assert [[names.id for names in objects] for objects in machine.looked[:2]] == [["pod", "one"], ["one"]]


def test_leftovers_of_every_object_are_reported_once(watch: LeftoverWatch, machine: Machine) -> None:
    found = []
    for number in range(2):
        machine.left = [Trace(TraceKind.FILE, f"/run/{number}", str(number))]
        found.append(after(watch, run(str(number)), remove(str(number))))

    assert found == [{"SBX-27": ["file /run/0"]}, {}]


def test_leftovers_that_the_test_itself_found_do_not_count(watch: LeftoverWatch, machine: Machine) -> None:
    machine.left = [Trace(TraceKind.CGROUP, "cgroup", "pod"), Trace(TraceKind.NAMESPACE, "pin", "pod")]
    for each in (run("pod"), remove("pod")):
        watch.follow(each)

    assert [found.aspect for found in watch.take("SBX-27")] == ["SBX-20"]


def test_nothing_counts_on_a_runtime_that_the_suite_makes_fail(
    watch: LeftoverWatch, machine: Machine
) -> None:
    watch.ignored.add("unix:///wrapped.sock")
    machine.left = [Trace(TraceKind.CGROUP, "cgroup", "pod")]

    assert (
        after(
            watch, *(replace(each, endpoint="unix:///wrapped.sock") for each in (run("pod"), remove("pod")))
        )
        == {}
    )


def test_log_of_a_removed_container_may_be_that_of_another_one(
    watch: LeftoverWatch, machine: Machine
) -> None:
    after(watch, create("one", "pod", "a.log"), create("other", "pod", "b.log"))
    after(watch, create("again", "pod", "a.log"), remove_container("one"), remove_container("other"))

    assert [names.log for names in machine.looked[0]] == ["", "/logs/b.log"]


def test_a_changed_setting_of_the_host_is_reported_once(watch: LeftoverWatch, machine: Machine) -> None:
    machine.sem = ["2"]

    assert after(watch) == {"SYS-05": ["kernel.sem is '2', was '1'"]}
    assert after(watch) == {}


def test_a_setting_that_another_test_undoes_is_not_reported(watch: LeftoverWatch, machine: Machine) -> None:
    machine.sem = ["1", "2"]

    assert after(watch) == {}
