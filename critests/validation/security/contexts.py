"""Security contexts for requests, and system calls to try in containers."""

import errno
import re
from typing import Any

from critests.api import api_pb2 as cri

RUNTIME_DEFAULT = cri.SecurityProfile(profile_type=cri.SecurityProfile.RuntimeDefault)
UNCONFINED = cri.SecurityProfile(profile_type=cri.SecurityProfile.Unconfined)
_RESULT = re.compile(r"ret=(-?\d+) errno=(\d+)")


def context(
    user: int | None = None,
    group: int | None = None,
    **fields: Any,  # noqa: ANN401 - fields of the message
) -> cri.LinuxContainerSecurityContext:
    """Return a container's security context.

    Args:
        user: run_as_user.
        group: run_as_group.
        fields: further fields of the message.
    """
    security_context = cri.LinuxContainerSecurityContext(**fields)
    if user is not None:
        security_context.run_as_user.value = user
    if group is not None:
        security_context.run_as_group.value = group
    return security_context


def pod_context(user: int | None = None, **fields: Any) -> cri.LinuxSandboxSecurityContext:  # noqa: ANN401 - fields of the message
    """Return a sandbox's security context; arguments as in `context`."""
    security_context = cri.LinuxSandboxSecurityContext(**fields)
    if user is not None:
        security_context.run_as_user.value = user
    return security_context


def system_call(name: str, *arguments: int | str, program: str = "/bin/sys") -> str:
    """Return a shell command that makes a system call; `result_of` and `error_of` parse its output.

    Args:
        name: of a call that `critests/images/programs/sys.c` implements.
        arguments: numbers, or strings, which are passed by address.
        program: that makes the call.
    """
    words = [argument if isinstance(argument, int) else f"={argument}" for argument in arguments]
    return " ".join(map(str, (program, name, *words)))


def result_of(output: str) -> int:
    """Return the result of the last call that `system_call` made; -1 if it failed.

    Raises:
        AssertionError: the call was not made.
    """
    return _last_call(output)[0]


def error_of(output: str) -> str:
    """Return the error of the last call that `system_call` made, such as `EPERM`; empty if it succeeded.

    Raises:
        AssertionError: the call was not made.
    """
    result, number = _last_call(output)
    return errno.errorcode.get(number, f"error {number}") if result == -1 else ""


def _last_call(output: str) -> tuple[int, int]:
    found = _RESULT.findall(output)
    assert found, f"the system call was not made: {output!r}"
    result, number = found[-1]
    return int(result), int(number)
