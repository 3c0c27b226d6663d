"""STP: the stop signal of a container."""

from typing import cast

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    FOREVER,
    Capability,
    Containers,
    Images,
    RecordVariant,
    Registry,
    Runtime,
    refused_with,
    requirement,
    requires,
)

# all of them are SIGUSR2
OTHER_FORMS = {"no SIG prefix": "USR2", "number": "12", "lower case": "sigusr2"}
# The kernel's numbers: its real-time signals begin at 32, of which libc reserves the first two. The names of
# the lower half count up from SIGRTMIN, those of the upper half down from SIGRTMAX.
SIGNALS = {
    "SIGHUP": 1,
    "SIGINT": 2,
    "SIGUSR2": 12,
    "SIGWINCH": 28,
    "SIGRTMIN": 34,
    "SIGRTMINPLUS15": 49,
    "SIGRTMAXMINUS14": 50,
    "SIGRTMAX": 64,
}


def exiting_at_any_of(*signals: str | int) -> str:
    """Return a script that prints `ready`, and exits with 41 at the first of the signals, with 42 at the
    second, and so on. The exit code identifies the signal, as the last output of a process may get lost.
    """
    # 41 and up: codes that neither a shell nor a signal produces
    traps = "; ".join(f"trap 'exit {code}' {name}" for code, name in enumerate(signals, 41))
    return f"{traps}; echo ready; {FOREVER}"


@requirement("STP-10/name")
@pytest.mark.parametrize(
    # by number, as a shell may have no name for SIGRTMIN+3, which is 34 + 3
    ("image", "number"),
    [("process", 10), ("stop-signal-realtime", 37)],
    ids=["SIGUSR1", "SIGRTMIN+3"],
)
def test_stop_sends_the_signal_that_the_image_names(
    runtime: Runtime, containers: Containers, images: Images, image: str, number: int
) -> None:
    """StopContainer MUST send the stop signal of the image if the container's configuration has none.

    Source: StopSignal of the OCI image configuration.
    """
    container = containers.running(
        image=images.pull(image), script=exiting_at_any_of("TERM", number), wait_for_log="ready"
    )

    # a process that does not get the signal is killed after a second, with another exit code
    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=1))

    assert container.status().exit_code == 42


@requirement("STP-10/other-forms")
@pytest.mark.parametrize("form", OTHER_FORMS)
def test_stop_accepts_other_forms_of_the_signal_in_the_image(
    runtime: Runtime, containers: Containers, registry: Registry, form: str
) -> None:
    """StopContainer SHOULD send the stop signal of the image also if it is a number, in lower case or without
    SIG.

    Source: not stated by the OCI image specification beyond SIGNAME and SIGRTMIN+N; images with such forms
    exist.
    """
    image = registry.pull(registry.mint(changes={"stop_signal": OTHER_FORMS[form]}))
    container = containers.running(
        image=image, script=exiting_at_any_of("TERM", "USR2"), wait_for_log="ready"
    )

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=1))

    assert container.status().exit_code == 42


@requirement("STP-11")
@requires(Capability.STOP_SIGNAL)
def test_a_stop_signal_in_the_configuration_overrides_the_image(
    runtime: Runtime, containers: Containers, images: Images
) -> None:
    """`stop_signal` MUST override the stop signal of the image.

    Source: ContainerConfig.stop_signal.
    """
    container = containers.running(
        image=images.pull("process"),
        script=exiting_at_any_of("TERM", "USR1", "USR2"),
        stop_signal=cri.SIGNAL_SIGUSR2,
        wait_for_log="ready",
    )

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=1))

    assert container.status().exit_code == 43


@requirement("STP-12")
@requires(Capability.STOP_SIGNAL)
@pytest.mark.parametrize(
    ("image", "configured", "effective"),
    [
        ("plain", None, cri.SIGNAL_SIGTERM),
        ("process", None, cri.SIGNAL_SIGUSR1),
        ("process", cri.SIGNAL_SIGUSR2, cri.SIGNAL_SIGUSR2),
    ],
    ids=["default", "from the image", "from the configuration"],
)
def test_status_reports_the_effective_stop_signal(
    containers: Containers,
    images: Images,
    image: str,
    configured: "cri.Signal | None",
    effective: "cri.Signal",
) -> None:
    """ContainerStatus MUST report the effective stop signal: the configured one, else the image's, else
    SIGTERM.

    Source: ContainerStatus.stop_signal.
    """
    container = containers.created(image=images.pull(image), stop_signal=configured)

    assert cri.Signal.Name(container.status().stop_signal) == cri.Signal.Name(effective)


@requirement("STP-13")
@requires(Capability.STOP_SIGNAL)
@pytest.mark.parametrize("name", SIGNALS)
def test_signals_of_the_api_are_those_of_the_kernel(
    runtime: Runtime, containers: Containers, name: str
) -> None:
    """StopContainer MUST send the signal that `stop_signal` names, also a real-time one.

    Source: Signal.
    """
    container = containers.running(
        script=exiting_at_any_of("TERM", SIGNALS[name]),
        stop_signal=cast("cri.Signal", cri.Signal.Value(f"SIGNAL_{name}")),
        wait_for_log="ready",
    )

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=1))

    assert container.status().exit_code == 42


@requirement("STP-14")
def test_an_invalid_stop_signal_in_the_image(
    runtime: Runtime, images: Images, containers: Containers, record_variant: RecordVariant
) -> None:
    """CreateContainer MAY reject an image with an invalid stop signal or ignore the signal; StopContainer
    stops a container of it.

    Source: StopSignal of the OCI image configuration; not stated there nor by the CRI.
    """
    config = containers.config(image=images.pull("stop-signal-invalid"))
    try:
        container = containers.adopt(
            runtime.stub.CreateContainer(containers.creation(config)).container_id, config
        )
    except grpc.RpcError as error:
        record_variant(f"CreateContainer fails with {refused_with(error).name}")
        assert runtime.stub.Version(cri.VersionRequest()).runtime_name
        return
    container.start()

    try:
        runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=1))
        record_variant("the container is stopped")
    except grpc.RpcError as error:
        record_variant(f"StopContainer fails with {refused_with(error).name}")
        runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=0))
    assert container.state() == cri.CONTAINER_EXITED
