"""A CNI plugin of ours that writes down how it is called, as the last one of a runtime's network."""

import json
import shlex
import sys
from dataclasses import dataclass
from typing import Any

from critests.fixtures.own_runtime import OwnRuntime

NAME = "critests-witness"
PROGRAM = """#!{python} -IS
import json, os, sys
from pathlib import Path

command, configuration = os.environ["CNI_COMMAND"], json.load(sys.stdin)
version = configuration.get("cniVersion", "1.0.0")
seen = {{"command": command, "id": os.environ.get("CNI_CONTAINERID", ""), "configuration": configuration}}
seen["arguments"] = os.environ.get("CNI_ARGS", "")
with Path({records!r}).open("a", encoding="utf-8") as file:
    file.write(json.dumps(seen) + "\\n")
if command == "VERSION":
    print(json.dumps({{"cniVersion": version, "supportedVersions": ["0.4.0", "1.0.0", "1.1.0"]}}))
elif command == "ADD":
    print(json.dumps(configuration["prevResult"]))
"""


@dataclass(frozen=True)
class Seen:
    """One call of the plugin.

    Attributes:
        command: `ADD`, `DEL` …
        id: of the sandbox.
        arguments: by name, those of CNI_ARGS.
        configuration: what it read, with `runtimeconfig` in it: all names in small letters, since plugins in
            Go take them in either case.
    """

    command: str
    id: str
    arguments: dict[str, str]
    configuration: dict[str, Any]


class Witness:
    """Joins the network of a runtime of a test's own, which is started again for it.

    Args:
        runtime: with wrappers, whose folder of plugins is its own.
        capabilities: that the plugin says it has.
    """

    def __init__(self, runtime: OwnRuntime, *capabilities: str) -> None:
        self._records = runtime.cni.directory / "witnessed"
        program = runtime.cni.plugins / NAME
        program.write_text(
            PROGRAM.format(python=shlex.quote(sys.executable), records=str(self._records)), encoding="utf-8"
        )
        program.chmod(0o755)
        network = json.loads(runtime.conflist.read_text(encoding="utf-8"))
        network["plugins"].append({"type": NAME, "capabilities": dict.fromkeys(capabilities, True)})
        runtime.conflist.write_text(json.dumps(network), encoding="utf-8")
        # not every runtime tells when it has read a configuration that has changed
        runtime.restart()

    def added(self, sandbox_id: str) -> Seen:
        """Return how it was called to add a sandbox to the network.

        Raises:
            AssertionError: it was not, or several times.
        """
        lines = self._records.read_text(encoding="utf-8").splitlines() if self._records.exists() else []
        calls = [_seen(json.loads(line)) for line in lines]
        found = [call for call in calls if (call.command, call.id) == ("ADD", sandbox_id)]
        assert len(found) == 1, f"called {len(found)} times to add the sandbox"
        return found[0]


def _seen(record: dict[str, Any]) -> Seen:
    pairs = (pair.partition("=") for pair in record["arguments"].split(";"))
    return Seen(
        record["command"],
        record["id"],
        {name: value for name, _, value in pairs},
        _in_small_letters(record["configuration"]),
    )


def _in_small_letters(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        return {name.lower(): _in_small_letters(inner) for name, inner in value.items()}
    return [_in_small_letters(inner) for inner in value] if isinstance(value, list) else value
