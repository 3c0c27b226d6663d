"""How the tests of this area write what they ask for, and what they attempt inside."""

import re
from typing import Any

from critests.api import api_pb2 as cri

RUNTIME_DEFAULT = cri.SecurityProfile(profile_type=cri.SecurityProfile.RuntimeDefault)
UNCONFINED = cri.SecurityProfile(profile_type=cri.SecurityProfile.Unconfined)
_RESULT = re.compile(r"ret=(-?\d+) errno=(\d+)")


def context(
    user: int | None = None,
    group: int | None = None,
    **fields: Any,  # noqa: ANN401 - those of the message
) -> cri.LinuxContainerSecurityContext:
    """Return a container's security context.

    Args:
        user: run_as_user.
        group: run_as_group.
        fields: further fields of the message.
    """
    made = cri.LinuxContainerSecurityContext(**fields)
    if user is not None:
        made.run_as_user.value = user
    if group is not None:
        made.run_as_group.value = group
    return made


def pod_context(user: int | None = None, **fields: Any) -> cri.LinuxSandboxSecurityContext:  # noqa: ANN401 - likewise
    """Return a sandbox's security context; arguments as in `context`."""
    made = cri.LinuxSandboxSecurityContext(**fields)
    if user is not None:
        made.run_as_user.value = user
    return made


def system_call(name: str, *arguments: int | str, program: str = "/bin/sys") -> str:
    """Return the shell's command that makes a system call; `outcome` reads what it prints.

    Args:
        name: of the call, one that `critests/images/programs/sys.c` knows.
        arguments: numbers, or texts that it gets the address of.
        program: that makes it.
    """
    words = [argument if isinstance(argument, int) else f"={argument}" for argument in arguments]
    return " ".join(map(str, (program, name, *words)))


def outcome(printed: str) -> tuple[int, int]:
    """Return the result and the error number of the last call that `system_call` made.

    Raises:
        AssertionError: it did not come to that.
    """
    found = _RESULT.findall(printed)
    assert found, f"the system call was not made: {printed!r}"
    result, number = found[-1]
    return int(result), int(number)
