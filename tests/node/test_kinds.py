"""A kind of runtime that is added to the tables is found, started, recognised and removed like the others."""

import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from critests.benchmark.measuring.runtime_processes import Role, runtime_processes
from critests.client import discovery
from critests.client.endpoint import EndpointError
from critests.node.cleanup import leftovers
from critests.node.cleanup.watcher import wait_for_end
from critests.node.host.binaries import MissingProgram, find_program
from critests.node.host.listeners import pid_of_socket
from critests.node.run_state import run_directories
from critests.node.run_state.locks import ProcessIdentity, run_is_live, start_time
from critests.node.starting.allocation import refuse_long_paths
from critests.node.starting.start_runtime import start_throwaway
from critests.node.starting.targets import ThrowawaySubject, parse_subject
from critests.node.starting.throwaway import RuntimeStartFailed, ThrowawayRuntime
from critests.run.context import RunContext
from critests.run.daemon_watch import DaemonWatch
from critests.runtimes import known_runtimes as known
from critests.runtimes import private_kinds as startable
from critests.runtimes.daemon_settings import DaemonSettings
from critests.runtimes.private_kind import Companion, ThrowawayKind
from critests.runtimes.runtime_facts import Monitor, RuntimeKind
from critests.runtimes.runtime_paths import RuntimePaths
from tests.node.footprints import footprint_in
from tests.programs import program

ROOT = Path(__file__).parents[2]
FACTS = RuntimeKind(
    name="third",
    title="The Third",
    reported_name="third",
    program="thirdd",
    sockets=(Path("/run/third.sock"),),
    helpers=("third-helper",),
    helper_directories=(Path("/usr/libexec/third"),),
    packages={"thirdd": "third-runtime"},
    monitor=Monitor(name="thirdmon"),
    shared_directories=(Path("/run/third-shared"),),
    apparmor_profile="third-default",
)


def write_configuration(paths: RuntimePaths, settings: DaemonSettings) -> list[str]:
    (paths.state / "third.conf").write_text(settings.pause_image, encoding="utf-8")
    return ["--socket", str(paths.state / "third.sock")]


THIRD = ThrowawayKind(
    facts=FACTS,
    socket=lambda footprint: footprint.state / "third.sock",
    sockets=lambda footprint: (footprint.state / "third.sock",),
    write_configuration=write_configuration,
    container_folders=lambda footprint: (footprint.root / "third",),
    environment=lambda footprint: {"THIRD_HOME": str(footprint.root)},
)


@pytest.fixture
def third(monkeypatch: pytest.MonkeyPatch) -> None:
    """The third kind, in both tables."""
    monkeypatch.setattr(known, "KINDS", (*known.KINDS, FACTS))
    monkeypatch.setitem(startable.KINDS, "third", THIRD)


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    """The small CRI server as the program of a daemon, and the helpers that the kind requires."""
    version = '[ "$1" = --version ] && echo thirdd version 3.2.1 && exit'
    serve = f'cd {ROOT} && exec {sys.executable} -m tests.criserver "$@"'
    for name, text in (("thirdd", f"{version}\n{serve}"), ("third-helper", "exit 0"), ("runc", "exit 0")):
        program(tmp_path / name, text)
    return tmp_path / "thirdd"


@pytest.mark.usefixtures("third")
def test_added_kind_is_parsed_and_named_in_errors() -> None:
    assert parse_subject("third=/bin/sh") == ThrowawaySubject("third", Path("/bin/sh"))
    with pytest.raises(EndpointError, match=r"/run/third\.sock"):
        discovery.find(None, None, {}, Path("/no/such/file"))
    with pytest.raises(MissingProgram, match="apt install third-runtime"):
        find_program("thirdd")


@pytest.mark.usefixtures("third")
def test_leftovers_of_an_added_kind_are_recognised(tmp_path: Path) -> None:
    footprint = footprint_in(tmp_path, "third")
    (footprint.root / "third" / ("ab" * 32)).mkdir(parents=True)
    assert leftovers.container_ids(footprint) == {"ab" * 32}
    assert "third-default" in known.apparmor_profiles()


@pytest.mark.parametrize("folder", ["state/runroot/overlay", "state/runroot/vfs", "root/root/vfs"])
def test_container_ids_of_crio_are_found_for_each_storage_driver(folder: str, tmp_path: Path) -> None:
    footprint = footprint_in(tmp_path, "crio")
    (tmp_path / f"{folder}-containers" / ("cd" * 32)).mkdir(parents=True)
    assert leftovers.container_ids(footprint) == {"cd" * 32}


@pytest.mark.skipif(os.geteuid() != 0, reason="starts a daemon as a throwaway runtime")
@pytest.mark.usefixtures("third")
def test_added_kind_is_started_and_leaves_nothing(binary: Path) -> None:
    run_id = f"{os.getpid()}-abcdef"
    with start_throwaway(
        "third", run_id=run_id, binary=binary, pause_image="x/pause:1", cni_plugins=binary.parent
    ) as runtime:
        assert runtime.kind == "third"
        assert runtime.state.name.startswith("third-")
        assert (runtime.state / "third.conf").read_text(encoding="utf-8") == "x/pause:1"
        environment = Path(f"/proc/{runtime.pid}/environ").read_bytes().split(b"\0")
        assert f"THIRD_HOME={runtime.root}".encode() in environment
        assert [process.role for process in runtime_processes(runtime.pid)] == [Role.DAEMON]
        assert run_directories.socket_dir(runtime.state.name.removeprefix("third-")).is_dir()
        first = runtime.pid
        runtime.restart()
        assert runtime.pid != first
    assert not run_is_live(run_id)
    assert not run_directories.run_dir(run_id).exists()
    assert not run_directories.socket_dir(runtime.state.name.removeprefix("third-")).exists()


COMPANION = Companion(
    program="third-helper",
    socket=lambda footprint: footprint.state / "store.sock",
    write_configuration=lambda footprint, _: ["--socket", str(footprint.state / "store.sock")],
)


@pytest.fixture
def pair(binary: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThrowawayRuntime]:
    """The third kind with a companion, without which its daemon does not start."""
    binary.with_name("third-helper").write_text(
        f"#!/bin/sh\ncd {ROOT} && exec {sys.executable} -m tests.criserver $*"
    )
    daemon = binary.read_text().replace("cd ", '[ -S "$STORE" ] || exit 9\ncd ', 1)
    binary.write_text(daemon)
    kind = replace(
        THIRD,
        companions=[COMPANION],
        environment=lambda footprint: {"STORE": str(COMPANION.socket(footprint))},
        sockets=lambda footprint: (THIRD.socket(footprint), COMPANION.socket(footprint)),
    )
    monkeypatch.setitem(startable.KINDS, "third", kind)
    log = binary.with_name("runtime.log")
    with start_throwaway(
        "third",
        run_id=f"{os.getpid()}-abcde1",
        binary=binary,
        pause_image="x",
        cni_plugins=binary.parent,
        log_file=log,
    ) as runtime:
        yield runtime
    output = log.read_text(encoding="utf-8")
    assert str(runtime.companions[0]) in output, "the log has the companion's output"
    assert runtime.endpoint in output
    assert not run_directories.run_dir(f"{os.getpid()}-abcde1").exists()


def companion_of(runtime: ThrowawayRuntime) -> int:
    """The process that listens on the companion's socket."""
    pid = pid_of_socket(runtime.companions[0])
    assert pid is not None
    return pid


@pytest.mark.skipif(os.geteuid() != 0, reason="starts a daemon as a throwaway runtime")
@pytest.mark.usefixtures("third")
def test_companion_is_started_first_and_stopped_last(pair: ThrowawayRuntime) -> None:
    companion, daemon = companion_of(pair), pair.pid
    started = [start_time(companion), start_time(daemon)]
    assert sorted(started, key=lambda ticks: ticks or 0) == started

    pair.restart()

    assert companion_of(pair) == companion, "a restart of the daemon does not restart it"
    assert pair.pid != daemon
    pair.stop()
    assert start_time(companion) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="starts a daemon as a throwaway runtime")
@pytest.mark.usefixtures("third")
def test_exit_of_a_companion_is_the_exit_of_the_runtime(pair: ThrowawayRuntime) -> None:
    context = SimpleNamespace(daemon_pid=pair.pid, companions=list(pair.companions))
    watch = DaemonWatch(cast("RunContext", context))
    companion = companion_of(pair)
    identity = ProcessIdentity.of(companion)
    assert watch.ended(suspicious=False) is None

    os.kill(companion, signal.SIGKILL)
    wait_for_end(identity)

    end = watch.ended(suspicious=False)
    assert end is not None
    assert (end.where, end.other) == (f"process {companion}", f"process {pair.pid}")
    pair.restart()
    assert companion_of(pair) != companion, "it is started again with the daemon"


@pytest.mark.parametrize("name", startable.KINDS)
def test_socket_paths_of_a_kind_are_short_enough(name: str) -> None:
    """The run id has the largest length, and the directories are the same on every machine."""
    run_id = "9999999999-abcdef"
    state = run_directories.run_dir(run_id) / run_directories.NODE / f"{name}-abcdef"
    footprint = footprint_in(state, name, run_id=run_id, token="abcdef", state=state)
    refuse_long_paths(startable.KINDS[name].sockets(footprint))


@pytest.mark.skipif(os.geteuid() != 0, reason="starts a daemon as a throwaway runtime")
def test_a_directory_too_long_for_sockets_is_not_created(
    binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    too_long = replace(THIRD, sockets=lambda footprint: (footprint.state / ("x" * 100),))
    monkeypatch.setitem(startable.KINDS, "third", too_long)
    run_id = f"{os.getpid()}-fedcba"
    with pytest.raises(RuntimeStartFailed, match=r"third cannot be started: a socket .* a path of"):
        start_throwaway("third", run_id=run_id, binary=binary, pause_image="x", cni_plugins=binary.parent)
    assert not (run_directories.run_dir(run_id) / run_directories.NODE).exists()
