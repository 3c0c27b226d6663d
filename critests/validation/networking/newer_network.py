"""A network of CNI version 1.1 with one plugin of the suite, which returns addresses but sets none."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import grpc

from critests.testing import OwnRuntime, Sandbox, refused_with, unsupported

NAME = "critests-newer"
VERSION = "1.1.0"
OLDER_VERSION = "1.0.0"
PLUGIN = """#!{python} -IS
import json, os, sys
from pathlib import Path

folder = Path({folder!r})
command = os.environ["CNI_COMMAND"]
configuration = json.loads(sys.stdin.read() or "{{}}")
with (folder / "calls").open("a", encoding="utf-8") as file:
    attachment = os.environ.get("CNI_CONTAINERID"), os.environ.get("CNI_IFNAME")
    file.write(json.dumps([command, attachment, configuration]) + "\\n")
if command == "VERSION":
    print(json.dumps({{"cniVersion": "1.1.0", "supportedVersions": ["1.0.0", "1.1.0"]}}))
elif command == "ADD":
    interface = {{"name": os.environ["CNI_IFNAME"], "sandbox": os.environ["CNI_NETNS"]}}
    address = {{"address": "192.0.2.10/24", "interface": 0}}
    version = configuration["cniVersion"]
    print(json.dumps({{"cniVersion": version, "interfaces": [interface], "ips": [address]}}))
elif command == "STATUS" and (folder / "down").exists():
    print(json.dumps({{"cniVersion": "1.1.0", "code": 50, "msg": "the network is down"}}))
    sys.exit(1)
"""
"""Python's options -I and -S make it independent of the environment and of installed packages. The network
192.0.2.0/24 is reserved for documentation, RFC 5737. Code 50 of the CNI means that the plugin is not
available, as STATUS reports it.
"""


class NewerNetwork:
    """Replaces the network of a runtime of the test's own, which is restarted for it.

    Args:
        runtime: with wrappers, and therefore a plugin directory of its own. The test is unsupported if the
            runtime is not ready with such a network.
    """

    def __init__(self, runtime: OwnRuntime) -> None:
        self._folder = runtime.cni.directory / "newer"
        self._folder.mkdir()
        program = runtime.cni.plugins / NAME
        program.write_text(
            PLUGIN.format(python=shlex.quote(sys.executable), folder=str(self._folder)), encoding="utf-8"
        )
        program.chmod(0o755)
        self._runtime = runtime
        try:
            self._replace_network(VERSION)
        except AssertionError as error:
            unsupported(f"CNI 1.1: the runtime is not ready with a network of that version: {error}")

    def _replace_network(self, version: str) -> None:
        network = json.loads(self._runtime.conflist.read_text(encoding="utf-8"))
        replacement = {"cniVersion": version, "name": network["name"], "plugins": [{"type": NAME}]}
        self._runtime.conflist.write_text(json.dumps(replacement), encoding="utf-8")
        # a runtime need not report when it has read a changed configuration
        self._runtime.restart()

    @property
    def _down(self) -> Path:
        return self._folder / "down"

    def calls(self, command: str) -> list[dict[str, Any]]:
        """Return the network configuration of each call of a command, in order."""
        return [config for called, _, config in self._recorded() if called == command]

    def added(self) -> list[tuple[str, str]]:
        """Return the attachments that were added to the network: sandbox id and interface name of each."""
        return [tuple(attachment) for called, attachment, _ in self._recorded() if called == "ADD"]

    def pod(self) -> Sandbox:
        """Create a pod on the network; the test is unsupported if only the previous version works.

        Raises:
            grpc.RpcError: pods fail on the network in either version, or the runtime does not respond.
        """
        sandboxes = self._runtime.sandboxes
        try:
            return sandboxes.attempt(sandboxes.config())
        except grpc.RpcError as error:
            refused_with(error)
            self._replace_network(OLDER_VERSION)
            sandboxes.attempt(sandboxes.config()).discard()
            unsupported("CNI 1.1: pods work on a network of version 1.0 and not on one of 1.1")

    def go_down(self) -> None:
        """Make STATUS fail from now on."""
        self._down.touch()

    def come_up(self) -> None:
        """Make STATUS succeed again."""
        self._down.unlink()

    def _recorded(self) -> list[Any]:
        file = self._folder / "calls"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return [json.loads(line) for line in lines]
