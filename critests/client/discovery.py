"""Finds the endpoint like crictl: option, environment, /etc/crictl.yaml, then the well-known sockets."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from critests.client.endpoint import Endpoint, EndpointError
from critests.client.socket_check import check_listening
from critests.runtimes.known_runtimes import well_known_sockets

CRICTL_CONFIG = Path("/etc/crictl.yaml")
CRICTL_CONFIG_VARIABLE = "CRI_CONFIG_FILE"
"""The environment variable that names another file, for crictl and for us."""


@dataclass(frozen=True)
class FoundEndpoint:
    """An endpoint, and where it was found as text."""

    endpoint: Endpoint
    image_endpoint: Endpoint
    source: str


def find(
    runtime: str | None,
    image: str | None,
    environment: Mapping[str, str] = os.environ,
    crictl_config: Path | None = None,
    well_known: tuple[Path, ...] | None = None,
) -> FoundEndpoint:
    """Return the endpoint to test.

    Args:
        runtime: the user's --runtime-endpoint, if any.
        image: the user's --image-endpoint, if any; otherwise the runtime endpoint.
        environment: with CONTAINER_RUNTIME_ENDPOINT and IMAGE_SERVICE_ENDPOINT.
        crictl_config: crictl's configuration file; None for the one in CRI_CONFIG_FILE, or else
            /etc/crictl.yaml.
        well_known: sockets that are tried last, and used if exactly one of them accepts connections; None for
            those of all known runtimes.

    Raises:
        EndpointError: there is none, or more than one.
    """
    named = environment.get(CRICTL_CONFIG_VARIABLE)
    if crictl_config is None:
        crictl_config = Path(named) if named else CRICTL_CONFIG
    if named and not crictl_config.exists():
        msg = f"{CRICTL_CONFIG_VARIABLE} names {crictl_config}, and there is no such file"
        raise EndpointError(msg)
    config = _read(crictl_config)
    image = (
        image
        or environment.get("IMAGE_SERVICE_ENDPOINT")
        or (None if runtime else config.get("image-endpoint"))
    )
    for text, source in (
        (runtime, "--runtime-endpoint"),
        (environment.get("CONTAINER_RUNTIME_ENDPOINT"), "CONTAINER_RUNTIME_ENDPOINT"),
        (config.get("runtime-endpoint"), str(crictl_config)),
    ):
        if text:
            endpoint = Endpoint.parse(text)
            return FoundEndpoint(endpoint, Endpoint.parse(image) if image else endpoint, source)
    well_known = well_known_sockets() if well_known is None else well_known
    answering = [path for path in well_known if _listens(path)]
    if len(answering) == 1:
        endpoint = Endpoint.parse(str(answering[0]))
        return FoundEndpoint(
            endpoint, Endpoint.parse(image) if image else endpoint, "the only well-known socket that answers"
        )
    if answering:
        names = " and ".join(f"unix://{path}" for path in answering)
        msg = f"more than one runtime answers ({names}): choose one with --runtime-endpoint"
        raise EndpointError(msg)
    tried = ", ".join(str(path) for path in well_known)
    msg = (
        f"no runtime found: no --runtime-endpoint, no CONTAINER_RUNTIME_ENDPOINT, nothing in {crictl_config},"
        f" and none of {tried} answers; critests run --node containerd starts a private one"
    )
    raise EndpointError(msg)


def _read(file: Path) -> dict[str, str]:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(file, error) from error

    import yaml  # noqa: PLC0415 - its import takes time, and few machines have the file

    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise _unreadable(file, error) from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        msg = f"{file}: expected lines such as `runtime-endpoint: unix:///run/containerd/containerd.sock`"
        raise EndpointError(msg)
    return {str(key): str(value) for key, value in content.items() if value}


def _listens(path: Path) -> bool:
    try:
        check_listening(Endpoint.parse(str(path)), 1.0)
    except EndpointError:
        return False
    return True


def _unreadable(file: Path, error: Exception) -> EndpointError:
    first_line = str(error).splitlines()[0]
    return EndpointError(f"{file} cannot be read ({first_line}); correct it, or use --runtime-endpoint")
