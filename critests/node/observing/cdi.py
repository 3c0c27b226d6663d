"""Specifications of the Container Device Interface: files by which a runtime finds devices by name.

They are written for runtimes that were started for the run, which read them from a directory of their own;
those of the machine are never touched.
"""

import json
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

VENDOR = "critests.example"
VERSION = "0.5.0"
"""Of the format: the first in which a node may be called otherwise in the container."""

MACHINE_FOLDERS = (Path("/etc/cdi"), Path("/var/run/cdi"))
"""Where runtimes look unless they are configured otherwise."""

Edits = Mapping[str, Any]
"""What a device changes of a container: `env`, `deviceNodes`, `mounts` and `hooks`, in the format's words."""


@dataclass(frozen=True)
class CdiFolder:
    """Where one runtime reads its specifications.

    Attributes:
        path: the directory.
        written: files that were written, for their removal.
        until_read: called when a new specification has been written; returns when the runtime has read it.
    """

    path: Path
    written: list[Path] = field(default_factory=list)
    until_read: Callable[[], None] = lambda: None

    def write(self, devices: Mapping[str, Edits], kind: str = "", everywhere: Edits | None = None) -> str:
        """Write a specification, and return its kind: the name of a device is `KIND=DEVICE`. That the runtime
        has read it is waited for unless it replaces another.

        Args:
            devices: what each device changes, by name.
            kind: that of an earlier specification, to replace it; a fresh one by default.
            everywhere: what any of them changes, once.
        """
        replaces = bool(kind)
        kind = kind or f"{VENDOR}/device-{secrets.token_hex(4)}"
        text = json.dumps(
            {
                "cdiVersion": VERSION,
                "kind": kind,
                "devices": [{"name": name, "containerEdits": dict(edits)} for name, edits in devices.items()],
                **({"containerEdits": dict(everywhere)} if everywhere else {}),
            }
        )
        self.place(kind, text)
        if not replaces:
            self.until_read()
        return kind

    def place(self, kind: str, text: str) -> None:
        """Put a file of any text in the directory, at once as a whole."""
        target = self.path / f"{kind.replace('/', '-')}.json"
        # runtimes read files with the ending json only
        draft = target.with_suffix(".draft")
        draft.write_text(text, encoding="utf-8")
        self.written.append(target)
        draft.replace(target)

    def clear(self) -> None:
        """Remove what was written."""
        for path in self.written:
            path.unlink(missing_ok=True)
        self.written.clear()


@dataclass(frozen=True)
class DescribedGpu:
    """A GPU of this machine, as described in the specification of its vendor's tool.

    Attributes:
        text: of the specification.
        name: of the device, `KIND=DEVICE`.
        nodes: paths of the device nodes that a container with it has.
        files: paths of what is mounted for it.
    """

    text: str
    name: str
    nodes: tuple[str, ...]
    files: tuple[str, ...]


def gpu_of_the_machine(folders: Iterable[Path] = MACHINE_FOLDERS) -> DescribedGpu | None:
    """Return the first GPU that the specifications of this machine describe; None where there is none."""
    import yaml  # noqa: PLC0415 - few machines have one, and a run should begin soon

    for path in (path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir())):
        if path.suffix not in {".json", ".yaml"}:
            continue
        text = path.read_text(encoding="utf-8")
        document = yaml.safe_load(text)
        devices = document.get("devices") if isinstance(document, dict) else None
        if not devices or not str(document.get("kind", "")).endswith("/gpu"):
            continue
        edits = [devices[0].get("containerEdits") or {}, document.get("containerEdits") or {}]
        return DescribedGpu(
            json.dumps(document),
            f"{document['kind']}={devices[0]['name']}",
            tuple(each["path"] for one in edits for each in one.get("deviceNodes") or ()),
            tuple(each["containerPath"] for one in edits for each in one.get("mounts") or ()),
        )
    return None


def node(path: str, host_path: str, permissions: str = "rw", **more: int) -> Edits:
    """Return the change that adds a device node.

    Args:
        path: in the container.
        host_path: of the host.
        permissions: to read and write.
        more: further fields, such as `fileMode`.
    """
    return {"deviceNodes": [{"path": path, "hostPath": host_path, "permissions": permissions, **more}]}


def variables(*pairs: str) -> Edits:
    """Return the change that sets environment variables, each `NAME=value`."""
    return {"env": list(pairs)}


def mount(container_path: str, host_path: str, options: Sequence[str] = ("ro", "bind")) -> Edits:
    """Return the change that mounts a path of the host."""
    return {"mounts": [{"containerPath": container_path, "hostPath": host_path, "options": list(options)}]}


def hook(name: str, *command: str) -> Edits:
    """Return the change that runs a command at a moment in the life of a container, such as
    `createRuntime`.
    """
    return {"hooks": [{"hookName": name, "path": command[0], "args": list(command)}]}
