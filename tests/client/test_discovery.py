import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from critests.client.discovery import find
from critests.client.endpoint import EndpointError

NOWHERE = Path("/no/such/file")


@contextmanager
def listening(*paths: Path) -> Iterator[None]:
    with ExitStack() as stack:
        for path in paths:
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(str(path))
            listener.listen()
        yield


def test_the_option_comes_first(tmp_path: Path) -> None:
    config = tmp_path / "crictl.yaml"
    config.write_text(
        "runtime-endpoint: unix:///config.sock\nimage-endpoint: unix:///config-images.sock\n",
        encoding="utf-8",
    )

    found = find("/flag.sock", None, {"CONTAINER_RUNTIME_ENDPOINT": "/environment.sock"}, config, ())

    assert (found.endpoint.text, found.image_endpoint.text, found.source) == (
        "unix:///flag.sock",
        "unix:///flag.sock",
        "--runtime-endpoint",
    )


def test_the_environment_comes_second(tmp_path: Path) -> None:
    environment = {
        "CONTAINER_RUNTIME_ENDPOINT": "/environment.sock",
        "IMAGE_SERVICE_ENDPOINT": "/images.sock",
    }

    found = find(None, None, environment, tmp_path / "absent", ())

    assert (found.endpoint.text, found.image_endpoint.text) == (
        "unix:///environment.sock",
        "unix:///images.sock",
    )


def test_the_configuration_of_crictl_comes_third(tmp_path: Path) -> None:
    config = tmp_path / "crictl.yaml"
    config.write_text("runtime-endpoint: unix:///config.sock\ntimeout: 10\n", encoding="utf-8")

    assert find(None, None, {}, config, ()).endpoint.text == "unix:///config.sock"


def test_the_environment_names_another_configuration_of_crictl(tmp_path: Path) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text("runtime-endpoint: unix:///mine.sock\n", encoding="utf-8")

    found = find(None, None, {"CRI_CONFIG_FILE": str(config)}, well_known=())

    assert (found.endpoint.text, found.source) == ("unix:///mine.sock", str(config))


def test_the_only_socket_that_answers_comes_last(tmp_path: Path) -> None:
    one, other = tmp_path / "one.sock", tmp_path / "other.sock"
    with listening(one):
        assert find(None, None, {}, NOWHERE, (one, other)).endpoint.socket == one


def test_two_sockets_that_answer_are_an_error(tmp_path: Path) -> None:
    one, other = tmp_path / "one.sock", tmp_path / "other.sock"
    with listening(one, other), pytest.raises(EndpointError, match="more than one"):
        find(None, None, {}, NOWHERE, (one, other))


@pytest.mark.parametrize("content", ["- a list\n", "{", "runtime-endpoint: [\n"])
def test_error_names_the_malformed_configuration(content: str, tmp_path: Path) -> None:
    config = tmp_path / "crictl.yaml"
    config.write_text(content, encoding="utf-8")

    with pytest.raises(EndpointError, match=str(config)):
        find(None, None, {}, config, ())
