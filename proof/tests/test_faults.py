"""The language of faults: what it reads, what it refuses, what it changes."""

import contextlib
import re
from typing import Any

import grpc
import pytest
from critests_proof.language.changes import FIELD_ACTIONS, Surroundings
from critests_proof.language.conditions import CallState
from critests_proof.language.descriptors import FaultError, held_enum, is_map, rpcs
from critests_proof.language.faults import Fault, LogFault, StreamFault, parse_fault
from critests_proof.language.values import kind_of
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from critests.api import api_pb2 as cri


def read(text: str) -> Fault:
    fault = parse_fault(text)
    assert isinstance(fault, Fault)
    return fault


def change(text: str, message: Message, request: Message | None = None) -> bool:
    fault = read(text)
    return fault.change(
        message, Surroundings(request or fault.rpc.request(), message if fault.side == "response" else None)
    )


def listed() -> cri.ListContainersResponse:
    return cri.ListContainersResponse(
        containers=[
            cri.Container(id="ab", labels={"a": "1", "b": "2"}, state=cri.CONTAINER_RUNNING),
            cri.Container(id="cd", labels={"c": "3"}, state=cri.CONTAINER_EXITED),
        ]
    )


STATUS = cri.ContainerStatusResponse(
    status=cri.ContainerStatus(
        id="ab", exit_code=3, state=cri.CONTAINER_RUNNING, created_at=10**18, labels={"a.b/c": "x", "d": "y"}
    )
)


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("ContainerStatus.response.status.exit_code: add 1", "exit_code", 4),
        ("ContainerStatus.response.status.exit_code: set -1", "exit_code", -1),
        ("ContainerStatus.response.status.exit_code: clear", "exit_code", 0),
        ("ContainerStatus.response.status.exit_code: times 1000000000000", "exit_code", 2**31 - 1),
        ("ContainerStatus.response.status.created_at: divide 1000000000", "created_at", 10**9),
        ("ContainerStatus.response.status.state: set CONTAINER_EXITED", "state", cri.CONTAINER_EXITED),
        ("ContainerStatus.response.status.state: set 3", "state", 3),
        ("ContainerStatusResponse.status.id: reverse", "id", "ba"),
        ("ContainerStatus.response.status.id: upper", "id", "AB"),
        ('ContainerStatus.response.status.id: append " \\n "', "id", "ab \n "),
        ("ContainerStatus.response.status.id: truncate 1", "id", "a"),
        ("ContainerStatus.response.status.id: change-last", "id", "ax"),
        ("ContainerStatus.response.status.state: next", "state", cri.CONTAINER_EXITED),
        ('ContainerStatus.response.status.id: set ""', "id", ""),
        (
            "ContainerStatus.response.status.finished_at: copy response.status.created_at",
            "finished_at",
            10**18,
        ),
        ("ContainerStatus.response.status.labels: drop-first", "labels", {"d": "y"}),
        ("ContainerStatus.response.status.labels: drop-all", "labels", {}),
        ("ContainerStatus.response.status.labels: drop d", "labels", {"a.b/c": "x"}),
        ('ContainerStatus.response.status.labels["a.b/c"]: set v', "labels", {"a.b/c": "v", "d": "y"}),
        (
            "ContainerStatus.response.status.labels[new]: set v",
            "labels",
            {"a.b/c": "x", "d": "y", "new": "v"},
        ),
        ("ContainerStatus.response.status.labels[d]: clear", "labels", {"a.b/c": "x"}),
        ("ContainerStatus.response.status.labels[]: upper", "labels", {"a.b/c": "X", "d": "Y"}),
        ('ContainerStatus.response.status.labels: set {"k": "v"}', "labels", {"k": "v"}),
    ],
)
def test_a_field_of_a_status(text: str, path: str, expected: object) -> None:
    message = cri.ContainerStatusResponse()
    message.CopyFrom(STATUS)
    assert change(text, message)
    assert getattr(message.status, path) == expected


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("ListContainers.response.containers: drop-first", ["cd"]),
        ("ListContainers.response.containers: drop-last", ["ab"]),
        ("ListContainers.response.containers: keep-first", ["ab"]),
        ("ListContainers.response.containers: drop-all", []),
        ("ListContainers.response.containers: reverse", ["cd", "ab"]),
        ("ListContainers.response.containers: duplicate-first", ["ab", "ab", "cd"]),
        ("ListContainers.response.containers: duplicate-all", ["ab", "cd", "ab", "cd"]),
        ("ListContainers.response.containers: append-other", ["ab", "cd", "ba"]),
        ('ListContainers.response.containers: append {"id": "x"}', ["ab", "cd", "x"]),
        ('ListContainers.response.containers: set [{"id": "x"}]', ["x"]),
        ("ListContainers.response.containers: drop-where state==CONTAINER_EXITED", ["ab"]),
        ("ListContainers.response.containers: keep-where labels[c]==3", ["cd"]),
        ("ListContainers.response.containers[].id: upper", ["AB", "CD"]),
        ("ListContainers.response.containers[-1].id: upper", ["ab", "CD"]),
        ("ListContainers.response.containers[0]: clear", ["", "cd"]),
        ("ListContainers.response: clear", []),
    ],
)
def test_lists(text: str, ids: list[str]) -> None:
    message = listed()
    assert change(text, message)
    assert [container.id for container in message.containers] == ids


def test_elements_keep_their_contents() -> None:
    message = listed()
    change("ListContainers.response.containers: reverse", message)
    assert message.containers[0] == listed().containers[1]


def test_every_element_of_a_nested_map() -> None:
    message = listed()
    assert change("ListContainers.response.containers[].labels: clear", message)
    assert not any(container.labels for container in message.containers)


def test_what_is_empty_has_no_last_character_and_behind_the_last_value_comes_the_first() -> None:
    status = cri.ContainerStatusResponse(status=cri.ContainerStatus(state=cri.CONTAINER_UNKNOWN))
    assert not change("ContainerStatus.response.status.id: change-last", status)
    assert change("ContainerStatus.response.status.state: next", status)
    assert status.status.state == cri.CONTAINER_CREATED


def test_requests_presence_bools_bytes_and_scalar_lists() -> None:
    sandbox = cri.ListPodSandboxRequest(
        filter=cri.PodSandboxFilter(id="x", state=cri.PodSandboxStateValue(state=cri.SANDBOX_READY))
    )
    assert change("ListPodSandbox.request.filter.state: clear", sandbox)
    assert not sandbox.filter.HasField("state")
    assert change("ListPodSandbox.request.filter: clear", sandbox)
    assert not sandbox.HasField("filter")
    status = cri.StatusRequest()
    assert change("StatusRequest.verbose: set true", status)
    assert change("StatusRequest.verbose: toggle", status)
    assert not status.verbose
    output = cri.ExecSyncResponse(stdout=b"abc")
    assert change("ExecSync.response.stdout: append x", output)
    assert change("ExecSync.response.stdout: upper", output)
    assert output.stdout == b"ABCX"
    exec_request = cri.ExecSyncRequest(cmd=["a", "b"])
    assert change('ExecSync.request.cmd: append "c d"', exec_request)
    assert change("ExecSync.request.cmd[0]: set z", exec_request)
    assert list(exec_request.cmd) == ["z", "b", "c d"]
    create = cri.CreateContainerRequest()
    create.config.envs.add(key="A", value=b"1")
    assert change("CreateContainer.request.config.envs: drop-first", create)
    assert not create.config.envs
    assert change('CreateContainer.request.config.linux: set {"resources": {"cpu_shares": "5"}}', create)
    assert create.config.linux.resources.cpu_shares == 5


def test_what_changes_nothing_says_so() -> None:
    assert not change("ListContainers.response.containers: drop-first", cri.ListContainersResponse())
    assert not change("ListContainers.response.containers[5].id: upper", listed())
    assert not change("ContainerStatus.response.status.exit_code: set 3", STATUS)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("nonsense", "TARGET: ACTION"),
        ("ListPodSandboxs: swallow", "did you mean ListPodSandbox"),
        ("StopContianer.request.timeout: set 0", "did you mean StopContainer"),
        ("StopContainer.request.timeuot: set 0", "did you mean timeout"),
        ("StopContainer.request.timeout: set soon", "number"),
        ("StopContainer.request.timeout: set 99999999999999999999", "holds numbers from"),
        ("StopContainer.request.timeout: upper", "cannot be done to timeout"),
        ("StopContainer.request.timeout: sett 0", "did you mean set"),
        ("StopContainer.request.timeout: add", "needs a number"),
        ("StopContainer.request.timeout: clear 3", "takes nothing"),
        ("StopContainer.answer.timeout: set 0", "not .answer"),
        ("StopContainer: swalow", "did you mean swallow"),
        ("StopContainer: error BROKEN", "no code is called"),
        ("StopContainer: error", "needs a code"),
        ("StopContainer: delay soon", "no time"),
        ("StopContainer: cut 3", "no stream to cut"),
        ("GetContainerEvents: stale", "stream"),
        ("StopContainer.request: drop", "only: clear"),
        ("PodSandboxStatus.response.status.state: set SANDBOX_NOTREDY", "did you mean SANDBOX_NOTREADY"),
        ("ListContainers.response.containers.labels: clear", "containers[].labels"),
        ("ListContainers.response.containers[x].id: clear", "by its number"),
        ("Version.response.version[0]: clear", "neither a list nor a map"),
        ("Version.response.version.x: clear", "holds no message"),
        ("Version.response.version.: clear", "dot"),
        ("ListContainers.response.containers: set {}", "JSON array"),
        ("ListContainers.response.containers: set [", "JSON"),
        ("StopContainer: swallow when nth~2", "no condition"),
        ("StopContainer: swallow when request.contaner_id==x", "did you mean container_id"),
        ("StopContainer: swallow when response.x", "no field"),
        ("ContainerStatus: swallow when response.status.id==x", "cannot depend on the response"),
        ("ListPodSandbox: swallow when request.filter.state.state==READY", "SANDBOX_READY"),
        ("ListPodSandbox: swallow when request.filter.id<3x", "number"),
        ("StartContainer: after StopContaner {}", "did you mean StopContainer"),
        ('StartContainer: after StopContainer {"id": "x"}', "id"),
        ("log: strip-space", "did you mean strip-spaces"),
        ("log: upper 3", "takes nothing"),
        ("log: drop-nth 0", "from 1"),
        ("log: upper when nth=2", "no conditions"),
        ("stream: swap", "there are"),
        ("stream: status", "needs a JSON"),
        ("stream: truncate x", "number"),
        ("Version.stream: upper", "Exec, Attach, PortForward"),
    ],
)
def test_what_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(FaultError, match=re.escape(complaint)) as error:
        parse_fault(text)
    assert str(error.value).startswith(text)


def test_other_kinds_of_faults() -> None:
    assert parse_fault("log: drop-nth 3") == LogFault("log: drop-nth 3", "drop-nth", 3)
    assert parse_fault("log: late 2s") == LogFault("log: late 2s", "late", 2)
    assert parse_fault("stream: swap-channels") == StreamFault(
        "stream: swap-channels", ("Exec", "Attach", "PortForward"), "swap-channels", ""
    )
    assert parse_fault("Exec.stream: truncate") == StreamFault(
        "Exec.stream: truncate", ("Exec",), "truncate", "3"
    )
    assert read("Version: error UNAVAILABLE").argument[0] is grpc.StatusCode.UNAVAILABLE
    assert read("StartContainer: delay 250ms").argument == 0.25


@pytest.mark.parametrize(
    ("condition", "state", "holds"),
    [
        ("nth=2", {"nth": 2}, True),
        ("nth=2", {"nth": 1}, False),
        ("nth>1 and not repeated", {"nth": 2, "repeated": True}, False),
        ("repeated", {"repeated": True}, True),
        ("request.filter.id", {}, True),
        ("not request.filter.pod_sandbox_id", {}, True),
        ("request.filter.id==abc", {}, True),
        ('request.filter.id=="a and b"', {}, False),
        ("request.filter.id!=abc", {}, False),
        ("request.filter.id~=b", {}, True),
        ("request.filter.state.state==CONTAINER_EXITED", {}, True),
        ('request.filter.label_selector["x"]==1 and nth=1', {}, True),
        ('request.filter.label_selector["y"]', {}, False),
        ("response.containers[].state==CONTAINER_EXITED", {"response": listed()}, True),
        ("response.containers[].id!=ab", {"response": listed()}, False),
        ("response.containers[0].created_at>=0", {"response": listed()}, True),
        ("response.containers", {"response": cri.ListContainersResponse()}, False),
    ],
)
def test_conditions(condition: str, state: dict[str, Any], holds: bool) -> None:
    wish = cri.ContainerFilter(
        id="abc", state=cri.ContainerStateValue(state=cri.CONTAINER_EXITED), label_selector={"x": "1"}
    )
    seen: dict[str, Any] = {
        "nth": 1,
        "repeated": False,
        "request": cri.ListContainersRequest(filter=wish),
    } | state
    assert (
        read(f"ListContainers.response.containers: drop-all when {condition}").holds(CallState(**seen))
        == holds
    )


def test_when_in_quotes_is_no_condition() -> None:
    fault = read('ExecSync.response.stdout: append " when nth=2"')
    assert fault.argument == b" when nth=2"
    assert not fault.conditions


PATHS: list[tuple[str, FieldDescriptor, bool]] = []
for _rpc in rpcs().values():
    for _side, _class in (("request", _rpc.request), ("response", _rpc.response)):
        for _field in _class.DESCRIPTOR.fields:
            PATHS.append((f"{_rpc.name}.{_side}.{_field.name}", _field, False))  # type: ignore[arg-type]  # two rows a field
            if _field.is_repeated and not is_map(_field):  # type: ignore[arg-type]  # descriptors of the C core and of the stubs differ in name only
                PATHS.append((f"{_rpc.name}.{_side}.{_field.name}[0]", _field, True))  # type: ignore[arg-type]  # descriptors of the C core and of the stubs differ in name only


def example(field: FieldDescriptor, kind: str) -> str:
    plain = {
        "number": "1",
        "bool": "true",
        "text": "x",
        "bytes": "x",
        "message": "{}",
        "list": "[]",
        "map": "{}",
    }
    return held_enum(field).values[0].name if kind == "enum" else plain[kind]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.sampled_from(PATHS), st.sampled_from(sorted(FIELD_ACTIONS)))
def test_every_action_fits_every_field_or_is_refused_with_what_fits(
    path: tuple[str, FieldDescriptor, bool], action: str
) -> None:
    target, field, element = path
    kind = kind_of(field, element=element)
    argument = {
        "": "",
        "value": example(field, kind_of(field, element=element or action == "append")),
        "number": "1",
        "key": "k",
        "path": target.partition(".")[2].replace("[0]", "[0]"),
        "element": "id==1",
    }[FIELD_ACTIONS[action].argument]
    text = f"{target}: {action} {argument}".strip()
    if kind in FIELD_ACTIONS[action].kinds:
        if action in {"drop-where", "keep-where"} and (
            field.message_type is None or "id" not in field.message_type.fields_by_name
        ):
            return
        fault = read(text)
        message = (fault.rpc.request if fault.side == "request" else fault.rpc.response)()
        fault.change(message, Surroundings(message, message))
        assert message.SerializeToString() is not None
    else:
        with pytest.raises(FaultError, match="cannot be done"):
            read(text)


@pytest.mark.nightly("hypothesis draws much")
@settings(deadline=None, derandomize=True)
@given(st.text(max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    for whole in (
        text,
        f"StopContainer: {text}",
        f"ListContainers.response.containers{text}: clear",
        f"Version: swallow when {text}",
    ):
        with contextlib.suppress(FaultError):
            parse_fault(whole)
