"""Storms: simultaneous starts, the name of the slowest action, and detection of lost objects."""

import contextlib
import itertools
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.meter import CallFailed, Meter, NotDone
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios import exit_barrier, test_storms
from critests.benchmark.scenarios.exit_barrier import ExitBarrier, add_exit_latencies, wait_for_exits
from critests.benchmark.scenarios.storms import (
    Storm,
    StormItem,
    add_storm,
    check_none_left,
    check_none_lost,
    measure_alone,
    run_storm,
)
from critests.benchmark.scenarios.test_storms import check_output, pods_at_once
from tests.benchmark.fakes import FakeTarget, answering, bench, doing, new_meter

REQUEST = cri.VersionRequest()


def test_all_begin_at_the_same_instant() -> None:
    """No action ends before all have started, otherwise none would pass the barrier."""
    together = threading.Barrier(20)

    def one(_index: int, meter: Meter) -> None:
        together.wait(60)
        meter.call("Version", answering(0.05), REQUEST)

    storm = run_storm([f"pod {number}" for number in range(20)], one, new_meter())

    assert len(storm.items) == 20
    assert not storm.failures
    assert all(item.end - storm.instant >= item.end - item.begin >= 0.05 for item in storm.items)
    assert storm.seconds == max(item.end for item in storm.items) - storm.instant
    assert storm.items == sorted(storm.items, key=lambda item: item.end)


def test_failed_and_unfinished_actions_are_named() -> None:
    over = threading.Event()

    def one(index: int, meter: Meter) -> None:
        if index == 1:
            meter.call("Version", answering(failing={1}), REQUEST)
        if index == 2:
            over.wait(60)

    storm = run_storm(["first", "second", "third"], one, new_meter(), seconds=2)
    over.set()

    assert storm.unfinished == ["third"]
    assert storm.failures == ["second: Version failed with UNKNOWN: no", "third: did not end"]


def item(name: str, seconds: float, begin: float = 0.0, why: str = "") -> StormItem:
    meter = new_meter()
    meter.add("pod start", seconds, begin, code="UNKNOWN" if why else "OK")
    return StormItem(name, begin, begin + seconds, why, meter)


def test_a_storm_is_stored_with_its_slowest_action() -> None:
    meter = new_meter()
    meter.block = 4
    storm = Storm(0.0, [item("a", 0.2, 0.001), item("b", 0.5, 0.002), item("c", 1.7, 0.003)], [])

    add_storm(meter, storm, each="pod start", whole="all pods ready")

    assert meter.series["pod start"].value == [0.2, 0.5, 1.7]
    assert meter.series["all pods ready"].value == [pytest.approx(1.703)]
    assert meter.series["all pods ready, client's delay"].value == [pytest.approx(0.003)]
    assert meter.slowest == {"pod start": (1.7, "c")}


def test_the_slowest_of_several_storms_stands_with_the_headline() -> None:
    made = bench(seconds=0.0)
    storm = iter([[item("pod 1", 0.2), item("pod 2", 0.9)], [item("pod 1", 0.3), item("pod 2", 0.4)]])

    def cycle(meter: Meter) -> None:
        add_storm(meter, Storm(0.0, next(storm), []), each="pod start", whole="all pods ready")

    made.sample(doing(cycle), headline="all pods ready", most=2, seconds=0.0)

    (headline,) = [each for each in made.operations if each.headline]
    assert "the slowest pod start was pod 2 with 0.9 s" in headline.note


def test_a_storm_has_no_warm_up() -> None:
    """The slow actions are not first because the runtime was cold."""
    made = bench(seconds=0.0)
    slow_first = [item(f"pod {number}", 5.0 / number, number / 1e6) for number in range(1, 101)]

    def cycle(meter: Meter) -> None:
        add_storm(meter, Storm(0.0, slow_first, []), each="pod start", whole="all pods ready")

    made.sample(doing(cycle), headline="all pods ready", most=1, seconds=0.0)

    (start,) = [each for each in made.operations if each.operation == "pod start"]
    assert (start.count, start.warm_up, start.steadiness) == (100, 0, "")


def test_a_storm_with_a_failure_is_stored_and_fails() -> None:
    meter = new_meter()
    storm = Storm(0.0, [item("a", 0.2), item("b", 0.5, why="no address")], ["c"])

    with pytest.raises(CallFailed, match="2 of 3 failed, such as b: no address"):
        add_storm(meter, storm, each="pod start", whole="all pods ready")

    assert meter.series["pod start"].errors() == {"UNKNOWN": 1}
    assert meter.series["all pods ready"].errors() == {"UNKNOWN": 1}
    assert meter.slowest == {"pod start": (0.2, "a")}


def test_an_output_that_belongs_to_another_is_no_mere_failure() -> None:
    def one(index: int, _meter: Meter) -> None:
        check_output(f"exec {index + 1}", cri.ExecSyncResponse(stdout=b"exec 1\n"))

    storm = run_storm(["exec 1", "exec 2"], one, new_meter())

    with pytest.raises(NotDone, match="1 of 2, such as exec 2: exec 2 ended with 0 and printed"):
        add_storm(new_meter(), storm, each="ExecSync", whole="all execs done")


def test_a_failed_baseline_is_stored() -> None:
    meter = new_meter()

    measure_alone(meter, "Version", lambda own: own.call("Version", answering(), REQUEST))
    with pytest.raises(CallFailed):
        measure_alone(meter, "Version", lambda own: own.call("Version", answering(failing={1}), REQUEST))

    assert set(meter.series) == {"Version alone"}
    assert meter.series["Version alone"].errors() == {"UNKNOWN": 1}
    assert len(meter.series["Version alone"].value) == 2


def test_lost_objects_are_named() -> None:
    wanted = {"1": "pod 1", "2": "pod 2", "3": "pod 3"}

    check_none_lost("ListPodSandbox", wanted, {"1", "2", "3", "4"})
    with pytest.raises(NotDone, match="ListPodSandbox: 2 of 3 are lost: pod 1, pod 3"):
        check_none_lost("ListPodSandbox", wanted, {"2"})
    check_none_left("ListPodSandbox", wanted, {"4"})
    with pytest.raises(NotDone, match="1 of 3 were removed, and are still listed: pod 2"):
        check_none_left("ListPodSandbox", wanted, {"2"})


class Node:
    """Pods that are started, listed and removed; some are lost."""

    def __init__(self, losing: str = "", leaving: str = "") -> None:
        self.there: set[str] = set()
        self.losing, self.leaving = losing, leaving
        self.discarded = 0

    def listing(self, _request: object) -> Any:  # noqa: ANN401 - an answer of either list
        found = [SimpleNamespace(id=each) for each in self.there]
        return SimpleNamespace(items=found, containers=found)


def storm_on(node: Node, monkeypatch: pytest.MonkeyPatch) -> Callable[[Meter], None]:
    class OnePod:
        count = 0

        def __init__(self, _target: object) -> None:
            OnePod.count += 1
            self.number = OnePod.count
            self.sandbox_id = self.container_id = ""

        def start(self, meter: Meter) -> None:
            self.sandbox_id, self.container_id = f"s{self.number}", f"c{self.number}"
            with meter.sum("pod start"):
                meter.call("RunPodSandbox", answering(0.001), REQUEST)
            node.there |= {self.sandbox_id, self.container_id} - {node.losing}

        def check_running(self) -> None:
            assert self.sandbox_id

        def end(self, meter: Meter) -> None:
            with meter.sum("pod end"):
                meter.call("StopPodSandbox", answering(0.001), REQUEST)
            node.there -= {self.sandbox_id, self.container_id} - {node.leaving}

        def discard(self) -> None:
            node.discarded += 1

    monkeypatch.setattr(test_storms, "TimedPod", OnePod)
    target: Any = FakeTarget()
    target.image = lambda _name: None
    target.connection.runtime = SimpleNamespace(ListPodSandbox=node.listing, ListContainers=node.listing)
    with pods_at_once(5)(cast("Target", target)) as cycle:
        return cycle


def test_a_storm_of_pods_looks_at_both_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    node, meter = Node(), new_meter()

    storm_on(node, monkeypatch)(meter)

    assert {"pod start", "pod end", "all pods ready", "all pods gone", "RunPodSandbox"} <= set(meter.series)
    assert len(meter.series["pod start"].value) == len(meter.series["pod end"].value) == 5
    assert len(meter.series["pod start alone"].value) == len(meter.series["pod end alone"].value) == 1
    assert len(meter.series["RunPodSandbox"].value) == 5
    assert (node.there, node.discarded) == (set(), 6)


@pytest.mark.parametrize(
    ("node", "sentence"),
    [
        (Node(losing="s4"), "ListPodSandbox: 1 of 5 are lost: pod 3"),
        (Node(losing="c3"), "ListContainers: 1 of 5 are lost: pod 2"),
        (Node(leaving="s2"), "ListPodSandbox: 1 of 5 were removed, and are still listed: pod 1"),
    ],
)
def test_a_lost_or_leftover_pod_is_detected(
    node: Node, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotDone, match=sentence):
        storm_on(node, monkeypatch)(new_meter())

    assert node.discarded == 6


def test_each_reader_gets_one_line_also_a_late_one(tmp_path: Path) -> None:
    with ExitBarrier(tmp_path / "release", "go") as barrier:
        fifo = tmp_path / "release" / "go"
        script = barrier.command[2].replace("/release/go", str(fifo))
        early = [subprocess.Popen(["/bin/sh", "-c", script], stdout=subprocess.PIPE) for _ in range(6)]
        for process in early:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
        assert all(process.poll() is None for process in early)
        barrier.release(7)
        late = subprocess.Popen(["/bin/sh", "-c", script], stdout=subprocess.PIPE)
        codes = [process.wait(10) for process in (*early, late)]
        for process in (*early, late):
            assert process.stdout is not None
            process.stdout.close()

    assert codes == [0] * 7
    assert not fifo.exists()


def ending(ends: list[set[str]]) -> Any:  # noqa: ANN401 - as much of a target as is asked
    """Return a target whose lists report one set of exits after another."""
    left = iter(ends)
    latest: set[str] = set()

    def listed(_request: object, timeout: float) -> cri.ListContainersResponse:
        nonlocal latest
        assert timeout > 0
        latest = next(left, latest)
        return cri.ListContainersResponse(
            containers=[
                cri.Container(
                    id=each, state=cri.CONTAINER_EXITED if each in latest else cri.CONTAINER_RUNNING
                )
                for each in ("1", "2", "3")
            ]
        )

    target: Any = FakeTarget()
    target.runtime = SimpleNamespace(ListContainers=listed)
    return target


def test_the_first_list_that_reports_an_exit_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()
    clock_time = itertools.count(100)
    waits = SimpleNamespace(
        monotonic=lambda: next(clock), time=lambda: next(clock_time), sleep=lambda _seconds: None
    )
    monkeypatch.setattr(exit_barrier, "time", waits)

    first = wait_for_exits(ending([set(), {"2"}, {"1", "2"}]), ["1", "2", "3"])

    assert first == {"2": 101, "1": 102}


def test_exits_are_stored_and_a_lost_one_is_named() -> None:
    now = time.time()
    statuses = {
        each: cri.ContainerStatus(id=each, finished_at=int((now + late) * 1e9))
        for each, late in (("1", 0.1), ("2", 0.2), ("3", 0.0))
    }
    target: Any = FakeTarget()
    target.container_status = statuses.get
    containers: Any = {f"container {each}": SimpleNamespace(id=each) for each in ("1", "2", "3")}
    meter = new_meter()

    with pytest.raises(NotDone, match="1 of 3 are lost: container 3"):
        add_exit_latencies(meter, target, containers, {"1": now + 0.3, "2": now + 0.9}, now)

    assert meter.series["end to status"].value == [pytest.approx(0.2, abs=1e-3), pytest.approx(0.7, abs=1e-3)]
    assert meter.series["release to status"].value == [
        pytest.approx(0.3, abs=1e-3),
        pytest.approx(0.9, abs=1e-3),
    ]
    assert meter.series["all ends told"].value == [pytest.approx(0.9, abs=1e-3)]
    assert meter.slowest["end to status"][1] == "container 2"


@pytest.mark.parametrize(
    ("status", "sentence"),
    [(None, "is not known"), (cri.ContainerStatus(exit_code=137), "exited with 137")],
)
def test_another_exit_code_is_detected(status: cri.ContainerStatus | None, sentence: str) -> None:
    target: Any = FakeTarget()
    target.container_status = lambda _id: status
    containers: Any = {"container 1": SimpleNamespace(id="1")}

    with pytest.raises(NotDone, match=sentence):
        add_exit_latencies(new_meter(), target, containers, {"1": time.time()}, time.time())


def test_every_exec_has_its_own_output() -> None:
    check_output("exec 1", cri.ExecSyncResponse(stdout=b"exec 1\n"))
    with pytest.raises(NotDone, match="not its own name"):
        check_output("exec 1", cri.ExecSyncResponse(stdout=b"exec 2\n"))
    with pytest.raises(NotDone, match="ended with 1"):
        check_output("exec 1", cri.ExecSyncResponse(stdout=b"exec 1\n", exit_code=1))


def test_meters_of_threads_are_taken_over_in_order() -> None:
    meter, others = new_meter(), [new_meter(), new_meter()]
    meter.add("Version", 0.1, meter._origin)
    others[0].add("Version", 0.3, others[0]._origin + 3, code="UNKNOWN")
    others[1].add("Version", 0.2, others[1]._origin + 2)

    meter.begin_cycle()
    meter.merge(others)
    meter.mark_not_done()

    series = meter.series["Version"]
    assert series.value == [0.1, 0.2, 0.3]
    assert series.errors() == {"NOT_DONE": 1, "UNKNOWN": 1}


class Shell:
    """A process in place of a container: it runs the command on the host, where the mount is a folder."""

    def __init__(self, name: str, command: tuple[str, ...], mount: cri.Mount) -> None:
        script = command[2].replace(mount.container_path, mount.host_path)
        self.id = name
        self.process = subprocess.Popen([*command[:2], script], stdout=subprocess.PIPE)

    def wait_for_log(self, line: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == f"{line}\n".encode()
        self.process.stdout.close()


class Machine(FakeTarget):
    """A side whose containers are local processes, and whose execs print their argument."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.context.run = SimpleNamespace(data_directory=folder)
        self.shells: dict[str, Shell] = {}
        self.runtime = SimpleNamespace(ListContainers=self.listed, ExecSync=self.executed)

    def image(self, name: str) -> str:
        return name

    @contextlib.contextmanager
    def sandbox(self, **_options: object) -> Iterator[str]:
        yield "sandbox"

    def running(self, _sandbox: object, **options: Any) -> Any:  # noqa: ANN401 - stands for a container
        if not options:
            return SimpleNamespace(id=f"c{len(self.shells)}")
        made = Shell(f"c{len(self.shells)}", options["command"], options["mounts"][0])
        self.shells[made.id] = made
        return made

    def listed(self, _request: object, timeout: float) -> cri.ListContainersResponse:
        assert timeout > 0
        ended = {name for name, shell in self.shells.items() if shell.process.poll() is not None}
        return cri.ListContainersResponse(
            containers=[
                cri.Container(id=name, state=cri.CONTAINER_EXITED if name in ended else cri.CONTAINER_RUNNING)
                for name in self.shells
            ]
        )

    def container_status(self, name: str) -> cri.ContainerStatus:
        return cri.ContainerStatus(
            exit_code=self.shells[name].process.returncode, finished_at=int((time.time() - 0.001) * 1e9)
        )

    def discard_container(self, name: str) -> None:
        self.shells.pop(name).process.wait(10)

    def executed(self, request: cri.ExecSyncRequest, timeout: float) -> cri.ExecSyncResponse:
        assert timeout > 0
        return cri.ExecSyncResponse(stdout=f"{request.cmd[1]}\n".encode())


def test_a_complete_storm_of_exits(tmp_path: Path) -> None:
    machine, meter = Machine(tmp_path), new_meter()

    with test_storms.ends_at_once(12)(cast("Target", machine)) as cycle:
        cycle(meter)
        cycle(meter)

    assert len(meter.series["end to status"].value) == len(meter.series["release to status"].value) == 24
    assert len(meter.series["all ends told"].value) == 2
    assert meter.simultaneous == {"end to status", "release to status"}
    assert not machine.shells
    assert list((tmp_path / "release-only-12").iterdir()) == []


def test_a_complete_storm_of_execs(tmp_path: Path) -> None:
    meter = new_meter()

    with test_storms.execs_at_once(30)(cast("Target", Machine(tmp_path))) as cycle:
        cycle(meter)

    assert len(meter.series["ExecSync"].value) == 30
    assert len(meter.series["ExecSync alone"].value) == 1
    assert meter.rpcs["ExecSync alone"] == {"ExecSync": 1}
    assert len(meter.series["all execs done"].value) == 1
    assert meter.slowest["ExecSync"][1].startswith("exec ")


def test_a_node_that_starts_counts_from_its_first_request(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    runtime = SimpleNamespace(
        kill=lambda number: calls.append(f"kill {number:d}"), start_again=lambda: calls.append("start")
    )
    monkeypatch.setattr(test_storms, "throwaway_runtime_of", lambda _target: runtime)
    monkeypatch.setattr(test_storms, "reconnect", lambda *_: calls.append("found"))

    def storm(_target: object, _meter: Meter, number: int) -> Storm:
        calls.append(f"{number} pods")
        return Storm(1e9, [item("pod", 2.0, 1e9)], [])

    monkeypatch.setattr(test_storms, "_storm_of_pods", storm)
    target: Any = FakeTarget()
    target.image = lambda _name: None
    meter = new_meter()

    with test_storms.node_starts(50)(target) as cycle:
        cycle(meter)

    assert calls == ["kill 15", "start", "found", "50 pods"]
    assert meter.series["node start"].value[0] > 2
    assert meter.series["daemon start"].value[0] >= 0
