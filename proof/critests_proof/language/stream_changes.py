"""The changes of a fault to a streaming session (exec, attach, port-forward)."""

import json
from dataclasses import dataclass

from critests_proof.language.descriptors import FaultError, near


@dataclass(frozen=True)
class StreamChange:
    """One kind of change to a session: its description, its argument, and the default of the argument."""

    says: str
    argument: str = ""
    default: str = ""


STREAM_CHANGES: dict[str, StreamChange] = {
    "swap-channels": StreamChange("stdout and stderr change places"),
    "merge-stderr": StreamChange("stderr comes on stdout"),
    "drop-stdout": StreamChange("stdout is lost"),
    "drop-stderr": StreamChange("stderr is lost"),
    "drop-stdin": StreamChange("stdin never reaches the process"),
    "drop-resize": StreamChange("the terminal's size never reaches the process"),
    "drop-status": StreamChange("no status is sent"),
    "status": StreamChange("the status is this JSON (or text)", "JSON"),
    "status-success": StreamChange("the status always says success"),
    "exit-code": StreamChange("the status reports this exit code", "N"),
    "status-first": StreamChange("the status comes before the output"),
    "truncate": StreamChange("only the first N bytes of stdout arrive", "N", "3"),
    "corrupt": StreamChange("one byte of stdout is another, behind the first N", "N", "524288"),
    "upper": StreamChange("stdout comes in capitals"),
    "duplicate": StreamChange("every frame of output comes twice"),
    "hold": StreamChange("output is held back until the process has ended, or for a time", "TIME", ""),
    "reset": StreamChange("the connection breaks after N bytes of output", "N", "1"),
    "refuse-upgrade": StreamChange("the upgrade is refused with an HTTP status", "STATUS", "403"),
    "wrong-protocol": StreamChange(
        "another subprotocol is agreed to than was asked for", "NAME", "v9.channel.k8s.io"
    ),
    "idle-close": StreamChange("the connection ends once nothing has come for a time", "TIME", "30s"),
    "no-close": StreamChange("the connection stays open when all is over"),
    "no-close-frame": StreamChange("the connection ends without a close frame"),
    "dead-url": StreamChange("no server listens at the URL"),
}


def parse_stream_change(name: str, argument: str) -> str:
    """Return the argument of a change to sessions.

    Raises:
        FaultError: the change is unknown, or its argument is wrong.
    """
    change = STREAM_CHANGES.get(name)
    if change is None:
        msg = (
            f"no change to streams is called {name!r}{near(name, STREAM_CHANGES)}; there are:"
            f" {', '.join(STREAM_CHANGES)}"
        )
        raise FaultError(msg)
    if argument and not change.argument:
        msg = f"{name} takes nothing, so not {argument!r}"
        raise FaultError(msg)
    if not argument and change.argument and not change.default and name != "hold":
        msg = f"{name} needs a {change.argument}"
        raise FaultError(msg)
    if argument and change.argument in {"N", "STATUS"} and not argument.isdigit():
        msg = f"{name} needs a number, not {argument!r}"
        raise FaultError(msg)
    if name == "exit-code":
        return exit_status(int(argument))
    return argument or change.default


def exit_status(code: int) -> str:
    """Return the status that reports an exit code in the v4 subprotocol."""
    if code == 0:
        return json.dumps({"metadata": {}, "status": "Success"})
    cause = {"reason": "ExitCode", "message": str(code)}
    return json.dumps(
        {
            "metadata": {},
            "status": "Failure",
            "reason": "NonZeroExitCode",
            "message": f"command terminated with non-zero exit code: exit status {code}",
            "details": {"causes": [cause]},
        }
    )
