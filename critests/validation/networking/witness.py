"""A CNI plugin of the suite that records its calls, as the last one of a runtime's network."""

import json
import shlex
import sys
from dataclasses import dataclass
from typing import Any

from critests.testing import OwnRuntime

NAME = "critests-witness"
PLUGIN = """#!{python} -IS
import json, os, sys
from pathlib import Path

command, configuration = os.environ["CNI_COMMAND"], json.load(sys.stdin)
version = configuration.get("cniVersion", "1.0.0")
call = {{"command": command, "id": os.environ.get("CNI_CONTAINERID", ""), "configuration": configuration}}
call["arguments"] = os.environ.get("CNI_ARGS", "")
with Path({records!r}).open("a", encoding="utf-8") as file:
    file.write(json.dumps(call) + "\\n")
if command == "VERSION":
    print(json.dumps({{"cniVersion": version, "supportedVersions": ["0.4.0", "1.0.0", "1.1.0"]}}))
elif command == "ADD":
    print(json.dumps(configuration["prevResult"]))
"""


@dataclass(frozen=True)
class PluginCall:
    """One call of the plugin.

    Attributes:
        command: `ADD`, `DEL` …
        id: of the sandbox.
        arguments: those of CNI_ARGS, by name.
        configuration: the network configuration from its standard input, with `runtimeconfig`. All keys are
            in lower case, as JSON in Go ignores the case of keys.
    """

    command: str
    id: str
    arguments: dict[str, str]
    configuration: dict[str, Any]


class Witness:
    """Joins the network of a runtime of the test's own, which is restarted for it.

    Args:
        runtime: with wrappers, and therefore a plugin directory of its own.
        capabilities: of the plugin, as its network configuration declares them.
    """

    def __init__(self, runtime: OwnRuntime, *capabilities: str) -> None:
        self._records = runtime.cni.directory / "witnessed"
        program = runtime.cni.plugins / NAME
        program.write_text(
            PLUGIN.format(python=shlex.quote(sys.executable), records=str(self._records)), encoding="utf-8"
        )
        program.chmod(0o755)
        network = json.loads(runtime.conflist.read_text(encoding="utf-8"))
        network["plugins"].append({"type": NAME, "capabilities": dict.fromkeys(capabilities, True)})
        runtime.conflist.write_text(json.dumps(network), encoding="utf-8")
        # a runtime need not report when it has read a changed configuration
        runtime.restart()

    def added(self, sandbox_id: str) -> PluginCall:
        """Return the call that added a sandbox to the network.

        Raises:
            AssertionError: there is no such call, or more than one.
        """
        lines = self._records.read_text(encoding="utf-8").splitlines() if self._records.exists() else []
        calls = [_parsed(json.loads(line)) for line in lines]
        added = [call for call in calls if (call.command, call.id) == ("ADD", sandbox_id)]
        assert len(added) == 1, f"the plugin was called {len(added)} times to add the sandbox"
        return added[0]


def _parsed(record: dict[str, Any]) -> PluginCall:
    pairs = (pair.partition("=") for pair in record["arguments"].split(";"))
    return PluginCall(
        record["command"],
        record["id"],
        {name: value for name, _, value in pairs},
        _in_lower_case(record["configuration"]),
    )


def _in_lower_case(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        return {name.lower(): _in_lower_case(inner) for name, inner in value.items()}
    return [_in_lower_case(inner) for inner in value] if isinstance(value, list) else value
