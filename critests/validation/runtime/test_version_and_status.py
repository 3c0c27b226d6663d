"""RT: what Version and Status report."""

import re
from collections import Counter
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Containers,
    Runtime,
    Sandboxes,
    is_json,
    may_be_refused,
    requirement,
    requires,
)

SEMANTIC_VERSION = r"v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)([-~][0-9A-Za-z.~-]+)?(\+[0-9A-Za-z.~-]+)?"
"""Semantic versioning, with the tilde that distributions use where it has a hyphen."""
REQUIRED_CONDITIONS = ("RuntimeReady", "NetworkReady")


@requirement("RT-30")
def test_version_and_status_have_all_that_a_kubelet_needs(runtime: Runtime) -> None:
    """Version MUST fill all four fields, and Status MUST report both required conditions.

    Source: VersionResponse, StatusResponse.status.
    """
    version = runtime.stub.Version(cri.VersionRequest(version="0.1.0"))
    status = runtime.stub.Status(cri.StatusRequest())

    assert all(
        [version.version, version.runtime_name, version.runtime_version, version.runtime_api_version]
    ), version
    assert status.HasField("status")
    assert {condition.type for condition in status.status.conditions} >= set(REQUIRED_CONDITIONS)


@pytest.mark.parametrize(
    ("field", "form"),
    [
        pytest.param("version", r"0\.1\.0", marks=requirement("RT-01"), id="of the kubelet's API"),
        pytest.param("runtime_version", SEMANTIC_VERSION, marks=requirement("RT-03"), id="of the runtime"),
        pytest.param("runtime_api_version", ".+", marks=requirement("RT-04/non-empty"), id="of its API"),
    ],
)
def test_version_reports_every_version(runtime: Runtime, field: str, form: str) -> None:
    """Version MUST report the kubelet API version 0.1.0, the runtime's version as a semantic version (with or
    without a leading v), and the version of the API that the runtime serves.

    Source: VersionResponse.version, the version of the kubelet's API: the kubelet rejects a runtime that
    returns anything else; VersionResponse.runtime_version and runtime_api_version.
    """
    named = getattr(runtime.stub.Version(cri.VersionRequest(version="0.1.0")), field)

    assert re.fullmatch(form, named), named


@requirement("RT-02")
def test_runtime_has_one_name(runtime: Runtime) -> None:
    """Version MUST report a name of the runtime, the same in every call.

    Source: VersionResponse.runtime_name.
    """
    names = {runtime.stub.Version(cri.VersionRequest(version="0.1.0")).runtime_name for _ in range(3)}

    assert names == {runtime.version.runtime_name}
    assert "" not in names


@requirement("RT-04/format")
def test_version_of_the_runtimes_api_is_numeric(runtime: Runtime) -> None:
    """VersionResponse.runtime_api_version SHOULD consist of numbers and dots, with or without a leading v.

    Source: VersionResponse.runtime_api_version.
    """
    response = runtime.stub.Version(cri.VersionRequest(version="0.1.0"))

    assert re.fullmatch(r"v?\d+(\.\d+)*", response.runtime_api_version), response.runtime_api_version


@requirement("RT-05")
@pytest.mark.parametrize(
    "client_version",
    ["", "v1", "99.99.99", "no version at all"],
    ids=["empty", "of the API", "of the future", "words"],
)
def test_version_ignores_the_version_of_the_client(runtime: Runtime, client_version: str) -> None:
    """Version SHOULD return the same response to a client that sends no version or an unexpected one.

    Source: VersionRequest.version.
    """
    response = runtime.stub.Version(cri.VersionRequest(version=client_version))

    assert response == runtime.version


@requirement("RT-06")
@pytest.mark.parametrize("condition", REQUIRED_CONDITIONS)
def test_status_has_each_required_condition_once(runtime: Runtime, condition: str) -> None:
    """Status MUST report each of the two required conditions exactly once.

    Source: RuntimeStatus.conditions.
    """
    response = runtime.stub.Status(cri.StatusRequest())

    assert [one.type for one in response.status.conditions].count(condition) == 1


@requirement("RT-07")
@pytest.mark.parametrize("condition", REQUIRED_CONDITIONS)
def test_required_conditions_hold_on_a_healthy_node(runtime: Runtime, condition: str) -> None:
    """Status MUST report both required conditions as true on a healthy node.

    Source: RuntimeCondition.status.
    """
    response = runtime.stub.Status(cri.StatusRequest())

    conditions = [one for one in response.status.conditions if one.type == condition]
    assert conditions, f"there is no condition {condition}"
    assert all(one.status for one in conditions), (
        f"{condition} is false: {conditions[0].reason}: {conditions[0].message}"
    )


@requirement("RT-11")
def test_status_names_each_condition_once(runtime: Runtime) -> None:
    """Status SHOULD NOT report two conditions of the same type, including conditions beyond the required
    ones.

    Source: RuntimeCondition.type.
    """
    response = runtime.stub.Status(cri.StatusRequest())

    counted = Counter(condition.type for condition in response.status.conditions)
    assert counted
    assert set(counted.values()) == {1}, counted


@pytest.mark.parametrize(
    "verbose",
    [
        pytest.param(False, marks=requirement("RT-12"), id="plain"),
        pytest.param(True, marks=requirement("RT-13"), id="verbose"),
    ],
)
def test_status_has_info_only_if_verbose(runtime: Runtime, *, verbose: bool) -> None:
    """Status SHOULD fill the info map if `verbose` is set, and leave it empty otherwise.

    Source: StatusRequest.verbose, StatusResponse.info.
    """
    response = runtime.stub.Status(cri.StatusRequest(verbose=verbose))

    assert bool(response.info) is verbose


@requirement("RT-13")
def test_info_of_the_verbose_status_is_json(runtime: Runtime) -> None:
    """Every value in the info map of Status SHOULD be JSON.

    Source: StatusResponse.info.
    """
    response = runtime.stub.Status(cri.StatusRequest(verbose=True))

    assert [key for key, text in response.info.items() if not is_json(text)] == []


@requirement("RT-13")
def test_info_that_begins_as_json_is_complete(runtime: Runtime) -> None:
    """A value in the info map of Status that begins as a JSON object or array SHOULD be complete JSON.

    Source: StatusResponse.info. Not stated by the CRI; tools parse and print it.
    """
    response = runtime.stub.Status(cri.StatusRequest(verbose=True))

    begun = {key: text for key, text in response.info.items() if text.lstrip().startswith(("{", "["))}
    assert [key for key, text in begun.items() if not is_json(text)] == []


@requirement("RT-14/unique")
@requires(Capability.RUNTIME_HANDLERS)
def test_status_names_each_handler_once(runtime: Runtime) -> None:
    """Status MUST NOT list two handlers with the same name.

    Source: StatusResponse.runtime_handlers.
    """
    response = runtime.stub.Status(cri.StatusRequest())

    names = [handler.name for handler in response.runtime_handlers]
    assert names
    assert sorted(names) == sorted(set(names))


@requirement("RT-14/accepted")
@requires(Capability.RUNTIME_HANDLERS)
def test_run_pod_sandbox_accepts_every_listed_handler(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """RunPodSandbox SHOULD accept every handler that Status lists.

    Source: RuntimeHandler.name, RunPodSandboxRequest.runtime_handler.
    """
    names = [handler.name for handler in runtime.stub.Status(cri.StatusRequest()).runtime_handlers]
    states = {}

    for name in names:
        config = runtime.requests.sandbox()
        response = runtime.stub.RunPodSandbox(sandboxes.creation(config, name))
        states[name] = sandboxes.adopt(response.pod_sandbox_id, config).state()

    assert states == dict.fromkeys(names, cri.SANDBOX_READY)


@requirement("RT-15")
@requires(Capability.RUNTIME_HANDLERS)
def test_default_handler_is_listed_without_a_name(runtime: Runtime) -> None:
    """Status SHOULD list the default handler under the empty name, with the features of one of the named
    handlers, if there are any.

    Source: RuntimeHandler.name.
    """
    response = runtime.stub.Status(cri.StatusRequest())

    nameless = [handler.features for handler in response.runtime_handlers if not handler.name]
    assert len(nameless) == 1
    # if no handler has a name, there is nothing to compare the default one with
    named = [handler.features for handler in response.runtime_handlers if handler.name]
    assert not named or nameless[0] in named


@requirement("RT-16")
@requires(Capability.RUNTIME_HANDLERS, Capability.SAME_HOST)
def test_recursive_read_only_mounts_are_as_reported(
    runtime: Runtime, containers: Containers, host_folder: Path
) -> None:
    """A recursively read-only mount MUST work with a handler that reports recursive_read_only_mounts, and
    MUST be rejected with one that does not.

    Source: RuntimeHandlerFeatures.recursive_read_only_mounts, Mount.recursive_read_only. Either
    CreateContainer or StartContainer may reject it.
    """
    handlers = {
        handler.name: handler.features
        for handler in runtime.stub.Status(cri.StatusRequest()).runtime_handlers
    }
    mount = cri.Mount(
        container_path="/mnt/announced", host_path=str(host_folder), readonly=True, recursive_read_only=True
    )
    config = containers.config(mounts=[mount])
    works = False

    with may_be_refused():
        containers.attempt(config)
        works = True

    assert runtime.handler in handlers
    assert works is handlers[runtime.handler].recursive_read_only_mounts


@requirement("RT-21/calls")
def test_features_are_the_same_in_every_call(runtime: Runtime) -> None:
    """Status SHOULD report the same features and handlers in every call.

    Source: StatusResponse.features, StatusResponse.runtime_handlers.
    """
    responses = [runtime.stub.Status(cri.StatusRequest()) for _ in range(3)]

    handlers = [
        sorted((handler.name, str(handler.features)) for handler in response.runtime_handlers)
        for response in responses
    ]
    assert handlers == [handlers[0]] * 3
    assert [response.features for response in responses] == [responses[0].features] * 3


@requirement("RT-21/order")
def test_handlers_are_listed_in_the_same_order(runtime: Runtime) -> None:
    """Status SHOULD list the handlers in the same order in every call.

    Source: StatusResponse.runtime_handlers. Not stated by the CRI; a client that compares responses, as the
    kubelet does before it updates the API server, would see endless changes.
    """
    # a random order may differ in only one of eight responses, so 100 calls
    responses = [runtime.stub.Status(cri.StatusRequest()) for _ in range(100)]

    orders = {tuple(handler.name for handler in response.runtime_handlers) for response in responses}
    assert len(orders) == 1


@requirement("RT-29")
@pytest.mark.parametrize(
    ("rpc", "request_message"),
    [("Status", cri.StatusRequest()), ("Version", cri.VersionRequest())],
    ids=["Status", "Version"],
)
def test_status_and_version_return_within_a_second(
    runtime: Runtime, sandboxes: Sandboxes, rpc: str, request_message: object
) -> None:
    """Status and Version SHOULD return within a second, also while pods run.

    Source: Status, Version. Not stated by the CRI; the kubelet takes a slow Status for an unhealthy node.
    """
    sandboxes.ready()
    method = getattr(runtime.stub, rpc)

    seconds = [runtime.timed(method, request_message).seconds for _ in range(3)]

    assert max(seconds) < 1 * runtime.scale
