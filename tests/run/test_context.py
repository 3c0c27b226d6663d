"""How the beginning of a run fails: as one family of exceptions, each with its exit code."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.client.connection import Connection, connect
from critests.client.endpoint import Endpoint, EndpointError, EndpointMalformed
from critests.exit_codes import CannotTest, ExitCode, UsageError
from critests.images.platforms import UnsupportedArchitectureError
from critests.images.ports import RegistryPortTaken
from critests.images.registry_client import RegistryError
from critests.images.rootfs import BusyboxError
from critests.lifecycle import cgroup_parents
from critests.lifecycle.requests import RequestBuilder
from critests.lifecycle.run_label import RunIdentity
from critests.lifecycle.sandbox import Sandbox
from critests.node.host.binaries import MissingProgram
from critests.node.network.cni import CniPluginsMissing, NoFreeSubnet
from critests.node.starting import start_runtime
from critests.node.starting.throwaway import RuntimeStartFailed
from critests.run.beginning import begin_run
from critests.run.context import start_private
from critests.run.run_settings import Settings
from critests.toml_file import TomlMalformed
from tests.criserver import CriServer, serve
from tests.run.test_handover import CONTEXT


def settings(**given: object) -> Settings:
    return Settings.read({f"cri_{name}": value for name, value in given.items()}.get)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        *((error, ExitCode.USAGE) for error in (UsageError, EndpointMalformed, TomlMalformed)),
        *(
            (error, ExitCode.NOT_TESTED)
            for error in (
                EndpointError,
                RuntimeStartFailed,
                MissingProgram,
                CniPluginsMissing,
                NoFreeSubnet,
                BusyboxError,
                RegistryPortTaken,
                RegistryError,
                UnsupportedArchitectureError,
            )
        ),
    ],
)
def test_what_cannot_be_tested_knows_its_exit_code(error: type[CannotTest], code: ExitCode) -> None:
    assert issubclass(error, CannotTest)
    assert error.exit_code is code


def test_an_unwritable_results_folder_is_reported_before_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    server = CriServer()
    with serve(server) as endpoint, pytest.raises(CannotTest, match="cannot write"):
        begin_run(
            settings(
                runtime_endpoint=endpoint, allow_kubelet=True, results=str(tmp_path / "file" / "results")
            )
        )


def test_a_run_that_cannot_be_made_known_cannot_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    monkeypatch.setattr("critests.node.run_state.run_directories.RUNS", tmp_path / "file" / "runs")

    with pytest.raises(CannotTest, match="lock"):
        begin_run(settings(results=str(tmp_path)))


def test_a_handler_that_cannot_work_with_the_daemon_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("critests.run.context.unfit_handlers", lambda *_: {"other": "it is too old"})
    with serve(CriServer()) as endpoint:
        given = settings(runtime_endpoint=endpoint, allow_kubelet=True, results=str(tmp_path))
        with pytest.raises(CannotTest, match="--runtime-handler other: it is too old"):
            begin_run(replace(given, runtime_handler=("", "other")))
        begin_run(replace(given, runtime_handler=("runc",))).end()


def test_the_default_handler_is_looked_at_where_the_user_chose_its_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("critests.run.context.unfit_handlers", lambda *_: {"": "it makes none"})
    with serve(CriServer()) as endpoint:
        given = settings(runtime_endpoint=endpoint, allow_kubelet=True, results=str(tmp_path))
        with pytest.raises(CannotTest, match="the default handler: it makes none"):
            begin_run(replace(given, handler_binary=("runc=/opt/crun",)))
        begin_run(given).end()


def test_a_runtime_that_is_gone_at_the_end_is_reported_in_words(tmp_path: Path) -> None:
    nobody = Endpoint.parse(str(tmp_path / "nobody.sock"))
    context = replace(CONTEXT, endpoint=nobody, image_endpoint=nobody, throwaway=False)

    (note,) = context._remove_objects()
    assert "made (ListContainers failed with UNAVAILABLE: " in note


@pytest.mark.parametrize(("scale", "seconds"), [(15.0, 300.0), (1.0, 20.0), (0.5, 20.0)])
def test_a_slow_machine_has_longer_to_start_a_runtime(
    scale: float, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, object] = {}
    monkeypatch.setattr(start_runtime, "start_throwaway", lambda _, **options: given.update(options))
    asked = settings(node="containerd", deadline_scale=scale)

    start_private(asked, RunIdentity.new(), None)

    assert given["seconds"] == seconds


def test_an_upgrade_is_for_a_runtime_of_ours(tmp_path: Path) -> None:
    given = {"cri_upgrade_from": "/bin/true"}
    with pytest.raises(UsageError, match="--upgrade-from is for a runtime that --node starts"):
        Settings.read(given.get)
    with pytest.raises(UsageError, match="there is no file"):
        Settings.read({"cri_upgrade_from": str(tmp_path / "nothing")}.get)


def test_nothing_is_left_of_a_run_that_cannot_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first test a sandbox is tried, which has a cgroup, and whose logs have a place."""
    run = RunIdentity.new()
    monkeypatch.setattr(RunIdentity, "new", lambda: run)
    monkeypatch.setattr(cgroup_parents, "MOUNT", tmp_path / "cgroup")
    cgroups = tmp_path / "cgroup/memory/critests"
    (cgroups / run.id / "pod1").mkdir(parents=True)
    with serve(CriServer(wrong={"wants-image=registry.example/pods/pause:3.10"})) as endpoint:
        given = settings(runtime_endpoint=endpoint, results=str(tmp_path))
        with pytest.raises(CannotTest, match="no sandbox without the image"):
            begin_run(given)

    assert not run.data_directory.exists()
    assert not cgroups.exists()


def test_a_beginning_that_is_interrupted_leaves_no_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(connection: Connection, requests: RequestBuilder, handler: str) -> str:
        Sandbox.run(connection, requests.sandbox("tried"), handler)
        raise KeyboardInterrupt

    monkeypatch.setattr("critests.run.beginning.missing_sandbox_image", interrupted)
    with serve(CriServer()) as endpoint:
        with pytest.raises(KeyboardInterrupt):
            begin_run(
                settings(runtime_endpoint=endpoint, allow_kubelet=True, results=str(tmp_path)),
                keep_results=False,
            )
        with closing(connect(Endpoint.parse(endpoint))) as connection:
            assert not connection.runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items
