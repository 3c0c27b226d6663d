"""Faults below the runtime outside the documents of the OCI runtime: commands that are swallowed or replaced,
and faults of CNI plugins.

    oci.update: swallow
    oci.kill: swallow TERM
    oci.kill: instead KILL TERM
    cni.DEL: swallow
    cni.portmap/DEL: swallow
    cni-result.ips[].address: set "192.0.2.77/24"
    cni-config.runtimeConfig.portMappings: drop-all

A swallowed command is not executed, and its caller gets a success. `cni-result` is the result of the plugin
for the pod's interface, `cni-config` the configuration of the plugin for host ports; paths and actions are
those of `oci_document.py`.
"""

import signal
from dataclasses import dataclass

from critests_proof.language.descriptors import FaultError, near
from critests_proof.language.oci_document import ChangeMalformed, OciChange, parse_change

OCI_COMMANDS = (
    "create",
    "start",
    "kill",
    "delete",
    "exec",
    "update",
    "pause",
    "resume",
    "checkpoint",
    "restore",
)
CNI_COMMANDS = ("DEL",)
"""CNI commands that can be swallowed: for others a runtime needs a result."""
CNI_DOCUMENTS = {"cni-result": ("bridge/ADD", True), "cni-config": ("portmap/ADD", False)}
"""Document to the plugin and operation of the suite's network, and whether it is the result."""


@dataclass(frozen=True)
class CommandFault:
    """A command below the runtime that is not executed, or with another signal.

    Attributes:
        text: its text.
        program: `oci` or `cni`.
        operation: its command, for one CNI plugin `PLUGIN/COMMAND`.
        signals: of a kill, all forms of the affected signals; empty for any.
        instead: the replacement signal; empty if the command is swallowed.
    """

    text: str
    program: str
    operation: str
    signals: tuple[str, ...] = ()
    instead: str = ""


@dataclass(frozen=True)
class NetworkFault:
    """A fault in the configuration or the result of a CNI plugin.

    Attributes:
        text: its text.
        operation: `PLUGIN/COMMAND`.
        in_result: whether it is in the plugin's result.
        change: the change to the document.
    """

    text: str
    operation: str
    in_result: bool
    change: OciChange


def is_below(target: str) -> bool:
    """Return whether the target of a fault is one of these."""
    return target.partition(".")[0] in {"oci", "cni", *CNI_DOCUMENTS}


def parse_below(text: str, target: str, action: str, argument: str, when: str) -> CommandFault | NetworkFault:
    """Parse a fault, such as `oci.kill: swallow TERM`.

    Raises:
        FaultError: the text is malformed.
    """
    if when:
        msg = "faults below the runtime take no conditions"
        raise FaultError(msg)
    program, _, rest = target.partition(".")
    if program in CNI_DOCUMENTS:
        operation, in_result = CNI_DOCUMENTS[program]
        try:
            return NetworkFault(text, operation, in_result, parse_change(rest, action, argument))
        except ChangeMalformed as error:
            raise FaultError(str(error)) from error
    known = OCI_COMMANDS if program == "oci" else CNI_COMMANDS
    command = rest.rpartition("/")[2] if program == "cni" else rest
    if command not in known:
        msg = f"{command!r} cannot be swallowed{near(command, known)}; there are: {', '.join(known)}"
        raise FaultError(msg)
    words = argument.split()
    if action == "swallow" and (not words or (len(words) == 1 and command == "kill")):
        return CommandFault(text, program, rest, _forms(words[0]) if words else ())
    if action == "instead" and len(words) == 2 and command == "kill":
        return CommandFault(text, program, rest, _forms(words[0]), _forms(words[1])[-1])
    msg = "a command can be swallowed, a kill also for one signal, or have another one: 'instead TERM KILL'"
    raise FaultError(msg)


def _forms(name: str) -> tuple[str, ...]:
    """Return the forms in which runtimes write a signal, its number last."""
    known = {each.name.removeprefix("SIG"): each for each in signal.Signals}
    if name not in known:
        msg = f"no signal is called {name!r}{near(name, known)}"
        raise FaultError(msg)
    return name, f"SIG{name}", str(int(known[name]))
