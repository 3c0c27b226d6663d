"""The wrappers around small test programs, in each shell of this machine that may be /bin/sh on a node."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from critests.node.wrappers import stand_in
from critests.node.wrappers.actions import (
    ALL,
    Action,
    ChangeInput,
    ChangeResult,
    Delay,
    Edit,
    Fail,
    Record,
    ReplaceSignal,
    SkipCommand,
)
from critests.node.wrappers.stand_in import (
    CniWrapper,
    Invocation,
    MonitorWrapper,
    OciWrapper,
    timer_list_is_usable,
)
from tests.programs import program

SHELLS = [
    f"{shutil.which(name)}{rest}"
    for name, rest in (("dash", ""), ("busybox", " sh"), ("bash", " --posix"))
    if shutil.which(name)
]
GLOBAL = ("--root", "/r", "--log", "create", "--log-format", "json", "--systemd-cgroup", "--rootless=true")
ECHO = """#!/bin/sh
for word in "$@"; do printf '<%s>' "$word"; done
cat
echo to-stderr >&2
exit 7
"""
PLUGIN = """#!/bin/sh
read -r config
[ "$CNI_COMMAND" != FAILS ] || { echo '{"code": 11, "msg": "no"}'; exit 1; }
printf '{"ips": ["10.0.0.1"], "a/b": "%s", "config": %s}' "${CNI_PATH%%:*}" "$config"
"""


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def oci(tmp_path: Path, shell: str) -> OciWrapper:
    return OciWrapper(
        tmp_path / "it's wrapped" / "oci", program(tmp_path / "real dir" / "runc", ECHO), shell=shell
    )


@pytest.fixture
def cni(tmp_path: Path, shell: str) -> CniWrapper:
    plugins = tmp_path / "real plugins"
    for name in ("bridge", "portmap"):
        program(plugins / name, PLUGIN)
    return CniWrapper(tmp_path / "cni", plugins, shell=shell)


def call(path: Path, *arguments: str, text: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [path, *arguments],
        input=text,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


def invoked(
    oci: OciWrapper, *arguments: str, plan: Mapping[str, Sequence[Action]] | None = None
) -> Invocation:
    oci.plan(plan or {ALL: [Record()]})
    call(oci.path, *arguments)
    (invocation,) = oci.take()
    return invocation


@pytest.mark.parametrize(
    "plan",
    [
        {},
        {ALL: [Record()]},
        {"start": [Record(), Fail(1, "no")]},
        {ALL: [Delay(0)]},
        {"create": [Edit("old", "new")]},
    ],
    ids=["nothing", "recording", "other operation", "delaying", "editing"],
)
def test_wrapped_oci_runtime_gets_the_same_arguments_and_input(
    oci: OciWrapper, plan: Mapping[str, Sequence[Action]]
) -> None:
    arguments = ("--log", "/l", "create", "--bundle", "/nowhere at all", "it's one", "", "two  *")
    oci.plan(plan)
    wrapped, bare = (call(path, *arguments, text="stdin\n") for path in (oci.path, oci.real))
    assert (wrapped.stdout, wrapped.returncode) == (bare.stdout, bare.returncode)
    assert wrapped.stderr.splitlines()[-1] == "to-stderr"


def test_program_runs_without_a_plan_file(oci: OciWrapper) -> None:
    shutil.rmtree(oci.directory / "edits")
    (oci.directory / "plan").unlink()
    assert call(oci.path, "x").stdout == "<x>"


@pytest.mark.parametrize(
    ("arguments", "operation", "container"),
    [
        ((*GLOBAL, "create", "--bundle", "/b", "--pid-file", "/p", "abc"), "create", "abc"),
        ((*GLOBAL, "create", "--bundle=/b", "--no-pivot", "--console-socket", "/c", "abc"), "create", "abc"),
        ((*GLOBAL, "start", "abc"), "start", "abc"),
        ((*GLOBAL, "kill", "--all", "abc", "9"), "kill", "abc"),
        ((*GLOBAL, "kill", "-a", "abc", "9"), "kill", "abc"),
        ((*GLOBAL, "delete", "--force", "abc"), "delete", "abc"),
        ((*GLOBAL, "delete", "-f", "abc"), "delete", "abc"),
        ((*GLOBAL, "exec", "--process", "/p", "--detach", "--pid-file", "/f", "abc"), "exec", "abc"),
        ((*GLOBAL, "exec", "-d", "-p", "/p", "abc", "--", "ls", "-l"), "exec", "abc"),
        ((*GLOBAL, "update", "--resources", "/r", "abc"), "update", "abc"),
        ((*GLOBAL, "ps", "--format", "json", "abc"), "ps", "abc"),
        (("state", "abc"), "state", "abc"),
        (("--debug", "state", "--", "abc"), "state", "abc"),
        (("features",), "features", "-"),
        (("--version",), "--version", "-"),
        (("-v",), "-v", "-"),
        ((), "-", "-"),
        (("--root",), "-", "-"),
        (("kill", "--signal"), "kill", "-"),
    ],
    ids=" ".join,
)
def test_operation_and_id_are_parsed_after_the_options(
    oci: OciWrapper, arguments: tuple[str, ...], operation: str, container: str
) -> None:
    found = invoked(oci, *arguments)
    assert (found.program, found.operation, found.id, found.exit_code) == ("runc", operation, container, 7)


def test_record_has_times_of_the_monotonic_clock(oci: OciWrapper) -> None:
    begin = time.monotonic()
    found = invoked(oci, "start", "abc", plan={"start": [Record(), Delay(0.05), Delay(0.02)]})
    assert begin < found.begin < found.end < time.monotonic()
    assert found.seconds >= 0.07


def test_clock_program_is_used_without_timer_list(
    tmp_path: Path, shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stand_in, "_TIMER_LIST", Path(os.devnull))
    assert not timer_list_is_usable()
    wrapper = OciWrapper(tmp_path / "oci", program(tmp_path / "runc", ECHO), shell=shell)
    begin = time.monotonic()
    found = invoked(wrapper, "start", "abc")
    assert begin < found.begin < found.end < time.monotonic()


def test_changed_plan_applies_to_the_next_invocation(oci: OciWrapper) -> None:
    for plan, code in (
        ({}, 7),
        ({"start": [Fail(3, "no")]}, 3),
        ({"runc/start": [Fail(4, "no")]}, 4),
        ({"crun/start": [Fail(5, "x")]}, 7),
    ):
        oci.plan(plan)
        assert call(oci.path, "start", "a").returncode == code


def test_planned_applies_within_the_context_only(oci: OciWrapper) -> None:
    with oci.planned({"start": [Fail(3, "no")]}):
        assert call(oci.path, "start", "abc").returncode == 3
    assert call(oci.path, "start", "abc").returncode == 7


def test_take_returns_each_record_once(oci: OciWrapper) -> None:
    oci.plan({"start": [Record()], "delete": [Record()]})
    for operation in ("create", "start", "delete"):
        call(oci.path, operation, "abc")
    assert [one.operation for one in oci.take()] == ["start", "delete"]
    assert oci.take() == []
    with (oci.directory / "records").open("a") as file:
        file.write("1 2 0 0 runc start")
    assert oci.take() == []
    call(oci.path, "start", "torn")
    assert len(oci.records()) == 3


def test_unwritable_records_do_not_affect_the_runtime(oci: OciWrapper) -> None:
    oci.plan({ALL: [Record()]})
    (oci.directory / "records").unlink()
    (oci.directory / "records").mkdir()
    result = call(oci.path, "start", "abc")
    assert (result.returncode, result.stderr) == (7, "to-stderr\n")


@pytest.mark.parametrize(
    ("options", "logged"),
    [
        (("--log={log}", "--log-format=json"), '{"level":"error","msg":"no space: é %s"}\n'),
        (("--log", "{log}", "--log-format", "text"), 'level=error msg="no space: é %s"\n'),
        (("--log", "{log}"), 'level=error msg="no space: é %s"\n'),
        ((), None),
    ],
)
def test_planned_failure_is_written_to_log_file_and_stderr(
    oci: OciWrapper, tmp_path: Path, options: tuple[str, ...], logged: str | None
) -> None:
    oci.plan({"start": [Fail(9, "no space: é %s"), Record()]})
    log = tmp_path / "log"
    result = call(oci.path, *(option.format(log=log) for option in options), "start", "abc")
    assert (result.returncode, result.stdout, result.stderr) == (9, "", "no space: é %s\n")
    assert (log.read_text() if log.exists() else None) == logged
    assert [one.exit_code for one in oci.take()] == [9]


@pytest.mark.parametrize("text", ["old", r"a.*[b]\^$/&", "it's", '"quoted" $HOME `x`', "-f"])
def test_edit_replaces_text_of_the_bundle_literally(oci: OciWrapper, tmp_path: Path, text: str) -> None:
    config = tmp_path / "config.json"
    config.write_text(f"{{{text} and {text}}}aXXb")
    new = r"n\e&w/'"
    invocation = invoked(
        oci,
        "create",
        "--bundle",
        str(tmp_path),
        "abc",
        plan={"create": [Record(), Edit(text, new), Edit("absent", "x")]},
    )
    assert config.read_text().rstrip("\n") == f"{{{new} and {new}}}aXXb"
    assert invocation.edits == 1


def test_edit_changes_the_process_file_of_an_exec(oci: OciWrapper, tmp_path: Path) -> None:
    (tmp_path / "process").write_text("old")
    assert (
        invoked(
            oci,
            "exec",
            "--process",
            str(tmp_path / "process"),
            "abc",
            plan={"exec": [Record(), Edit("old", "new")]},
        ).edits
        == 1
    )
    assert (tmp_path / "process").read_text().strip() == "new"


@pytest.mark.parametrize(
    ("arguments", "planned", "read", "edits"),
    [
        (("--resources", "-", "abc"), Edit("old", "new"), "new {}", 1),
        (("--resources=-", "abc"), Edit("old", "new"), "new {}", 1),
        (("-r", "-", "abc"), Edit("absent", "new"), "old {}", 0),
        (("-r", "-", "abc"), Delay(0), "old {}", 0),
    ],
    ids=["two words", "one word", "nothing to edit", "no edit"],
)
def test_edit_changes_resources_on_standard_input_of_an_update(
    tmp_path: Path, shell: str, arguments: tuple[str, ...], planned: Action, read: str, edits: int
) -> None:
    oci = OciWrapper(tmp_path / "oci", program(tmp_path / "runc", "#!/bin/sh\ncat\n"), shell=shell)
    oci.plan({"update": [Record(), planned]})

    assert call(oci.path, "update", *arguments, text="old {}").stdout.strip() == read

    assert [one.edits for one in oci.take()] == [edits]
    assert list((oci.directory / "edits").glob("input*")) == []


@pytest.mark.parametrize(
    ("planned", "arguments", "sent", "edits"),
    [
        (SkipCommand(), ("kill", "abc", "9"), "", 1),
        (SkipCommand(("TERM", "15")), ("kill", "--all", "abc", "15"), "", 1),
        (SkipCommand(("TERM", "15")), ("kill", "abc", "9"), "<kill><abc><9>", 0),
        (SkipCommand(("TERM", "15")), ("kill", "abc"), "<kill><abc>", 0),
        (ReplaceSignal(("KILL", "9"), "15"), ("kill", "--all", "a b", "KILL"), "<kill><--all><a b><15>", 1),
        (ReplaceSignal(("KILL", "9"), "15"), ("kill", "abc", "10"), "<kill><abc><10>", 0),
    ],
)
def test_kill_is_skipped_or_sends_another_signal(
    oci: OciWrapper, planned: Action, arguments: tuple[str, ...], sent: str, edits: int
) -> None:
    oci.plan({"kill": [Record(), planned]})

    result = call(oci.path, *arguments)

    assert (result.stdout, result.returncode) == (sent, 7 if sent else 0)
    assert [one.edits for one in oci.take()] == [edits]
    oci.plan({"kill": [planned]})
    assert call(oci.path, *arguments).stdout == sent


def test_programs_change_input_and_result_of_a_plugin(cni: CniWrapper, tmp_path: Path) -> None:
    change = program(tmp_path / "change", "#!/bin/sh\nsed -i s/one/two/ $1\n")
    rewrite = program(tmp_path / "rewrite", "#!/bin/sh\nsed -i s/10.0.0.1/10.0.0.2/ $1\n")
    cni.plan({"bridge/ADD": [ChangeInput(change), ChangeResult(rewrite), Record()]})

    output = json.loads(call(cni.plugins / "bridge", text='{"is": "one"}\n', CNI_COMMAND="ADD").stdout)

    assert (output["config"], output["ips"]) == ({"is": "two"}, ["10.0.0.2"])
    assert [one.edits for one in cni.take()] == [2]
    assert [file for file in (cni.directory / "edits").iterdir() if "put." in file.name] == []
    cni.plan({ALL: [ChangeResult(rewrite)]})
    assert call(cni.plugins / "bridge", text="{}\n", CNI_COMMAND="FAILS").returncode == 1
    cni.plan({"DEL": [Record(), SkipCommand()]})
    result = call(cni.plugins / "portmap", text="{}\n", CNI_COMMAND="DEL")
    assert (result.stdout, result.returncode, cni.take()[0].edits) == ("", 0, 1)


def test_wrapped_plugin_gets_the_same_input_and_environment(cni: CniWrapper) -> None:
    environment = {"CNI_COMMAND": "ADD", "CNI_CONTAINERID": "abc", "CNI_PATH": str(cni.plugins)}
    other = Fail(1, "no")
    plans: list[dict[str, list[Action]]] = [
        {},
        {ALL: [Record()]},
        {"ADD": [Record(), Delay(0)]},
        {"DEL": [other], "portmap/ADD": [other]},
    ]
    for plan in plans:
        cni.plan(plan)
        result = call(cni.plugins / "bridge", text='{"x": 1}\n', **environment)
        assert result.stdout == f'{{"ips": ["10.0.0.1"], "a/b": "{cni.real_plugins}", "config": {{"x": 1}}}}'
        assert result.returncode == 0
    assert [(one.program, one.operation, one.id, one.exit_code) for one in cni.take()] == [
        ("bridge", "ADD", "abc", 0)
    ] * 2


def test_edit_changes_the_result_of_a_plugin(cni: CniWrapper) -> None:
    cni.plan(
        {"bridge/ADD": [Edit("10.0.0.1", "10.0.0.2"), Edit('"a/b"', '"c&d"'), Edit("absent", "x"), Record()]}
    )
    result = json.loads(call(cni.plugins / "bridge", text="{}\n", CNI_COMMAND="ADD").stdout)
    assert (result["ips"], list(result)) == (["10.0.0.2"], ["ips", "c&d", "config"])
    assert [one.edits for one in cni.take()] == [2]
    cni.plan({ALL: [Edit("no", "yes")]})
    result = call(cni.plugins / "portmap", text="{}\n", CNI_COMMAND="FAILS")
    assert (result.returncode, json.loads(result.stdout)["msg"]) == (1, "yes")


def test_failing_plugin_prints_a_cni_error(cni: CniWrapper) -> None:
    cni.plan({"ADD": [Fail(11, "try again later")]})
    result = call(cni.plugins / "portmap", CNI_COMMAND="ADD")
    assert (result.returncode, json.loads(result.stdout)) == (
        11,
        {"cniVersion": "1.0.0", "code": 11, "msg": "try again later"},
    )


def test_invalid_actions_are_rejected() -> None:
    for code, message in ((0, "x"), (256, "x"), (1, ""), (1, "a\nb"), (1, 'a"b'), (1, "a\\b"), (1, " a")):
        with pytest.raises(ValueError, match="not"):
            Fail(code, message)
    for seconds in (-1, 3601, float("nan")):
        with pytest.raises(ValueError, match="delay"):
            Delay(seconds)
    for action in (ChangeInput, ChangeResult):
        with pytest.raises(ValueError, match="white space"):
            action(Path("/a b"))
    for old, new in (("", "x"), ("a\nb", "x"), ("a", "x\ny")):
        with pytest.raises(ValueError, match="cannot be replaced"):
            Edit(old, new)


def test_programs_change_the_bundle_of_an_oci_runtime(oci: OciWrapper, tmp_path: Path) -> None:
    bundle = tmp_path / "a bundle"
    bundle.mkdir()
    (bundle / "config.json").write_text("old")
    doubles = program(tmp_path / "doubles", '#!/bin/sh\ntext=$(cat "$1")\necho "$text$text" >"$1"\n')
    fails = program(tmp_path / "fails", "#!/bin/sh\nexit 1\n")
    plan: dict[str, list[Action]] = {"create": [Record(), ChangeInput(doubles), ChangeInput(fails)]}
    invocation = invoked(oci, "create", "--bundle", str(bundle), "abc", plan=plan)
    assert ((bundle / "config.json").read_text(), invocation.edits) == ("oldold\n", 1)


SHIM = ("-namespace", "k8s.io", "-address", "/run/start", "-publish-binary", "/bin/delete", "-id", "abc")
CONMON = ("-b", "/bundle", "-c", "abc", "--exit-dir", "/exits", "-n", "k8s_e", "--runtime-arg", "--root=/r")


@pytest.fixture
def monitor(tmp_path: Path, shell: str) -> MonitorWrapper:
    return MonitorWrapper(tmp_path / "monitor", program(tmp_path / "conmon", ECHO), shell=shell)


@pytest.mark.parametrize(
    ("arguments", "operation", "container"),
    [
        ((*SHIM, "start"), "start", "abc"),
        ((*SHIM, "-bundle", "/start", "-debug", "delete"), "delete", "abc"),
        (("-info",), "-", "-"),
        (("--version",), "-", "-"),
        (CONMON, "start", "abc"),
        (("-c", "abc", "-p", "/f", "-e", "-l", "/l", "--sync", "-t"), "exec", "abc"),
    ],
    ids=" ".join,
)
def test_operation_and_id_of_a_monitor(
    monitor: MonitorWrapper, arguments: tuple[str, ...], operation: str, container: str
) -> None:
    monitor.plan({ALL: [Record()]})

    recorded = call(monitor.path, *arguments, text="stdin")

    (found,) = monitor.take()
    assert (found.operation, found.id, found.exit_code) == (operation, container, 7)
    assert recorded.stdout == call(monitor.real, *arguments, text="stdin").stdout


def test_a_monitor_that_fails_by_plan_is_not_started(monitor: MonitorWrapper) -> None:
    monitor.plan({"start": [Fail(1, "this step fails")]})

    failed = call(monitor.path, *SHIM, "start")

    assert (failed.returncode, failed.stdout, failed.stderr) == (1, "", "this step fails\n")
    assert call(monitor.path, *SHIM, "delete").returncode == 7
