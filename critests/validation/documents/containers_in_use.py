"""Runs a container for each document with an unusual value."""

from critests.api import api_pb2 as cri
from critests.lifecycle.container import Container
from critests.validation.documents.harmless_use import DocumentUser
from critests.validation.documents.images_in_use import EXIT_CODE

EXIT = f"exit {EXIT_CODE}"
"""The end of the script of the containers."""


def run_to_exit(user: DocumentUser, config: cri.ContainerConfig) -> Container:
    """Run a container whose script ends with `EXIT`, and return it when it has exited.

    Raises:
        grpc.RpcError: the runtime refuses it.
        AssertionError: its process ended with another exit code.
    """
    container = user.runtime.containers.attempt(config, user.timeout, in_sandbox=user.pod)
    status = container.exited()
    assert status.exit_code == EXIT_CODE, f"the container ended with {status.exit_code}: {status.message}"
    return container
