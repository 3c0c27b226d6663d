"""The identity of the runtime under test."""

from dataclasses import dataclass, field
from typing import Final

OCI_RUNTIME: Final = "OCI runtime"
"""Name of a component of a runtime, and role of its program."""


@dataclass(frozen=True, kw_only=True)
class ProgramFile:
    """One program of a runtime.

    Attributes:
        role: What it does: `daemon`, `OCI runtime`, `shim`, `monitor`, `CNI plugin` or `helper`.
        path: Absolute path of the file.
        version: The first line of its `--version` output, or empty.
        sha256: Digest of the file, hexadecimal, or empty if it cannot be read.
    """

    role: str
    path: str
    version: str = ""
    sha256: str = ""


@dataclass(frozen=True, kw_only=True)
class RuntimeIdentity:
    """The runtime under test.

    Attributes:
        name: The name that Version reports.
        version: The version that Version reports.
        api_version: The CRI version that Version reports.
        endpoint: Address of the runtime service.
        image_endpoint: Address of the image service; the same if there is only one socket.
        handlers: Runtime handlers of the run; an empty string is the default one.
        binary_path: Path of the daemon's binary if it is visible, else empty.
        binary_sha256: Its SHA-256, hexadecimal, else empty.
        pid: Process id of the daemon, or None if it is not visible.
        parts: Its known components by name, such as `OCI runtime` or `storage`.
        programs: Its programs, the daemon first. For a runtime that was not started for the run, only the
            daemon if its process is visible.
        defaults: What a container gets that requests nothing: `seccomp`, `capabilities` and so on to its
            value; empty if that was not read.
        offers: What the runtime reports to offer: name to its value; empty if that was not read.
    """

    name: str
    version: str
    api_version: str = ""
    endpoint: str = ""
    image_endpoint: str = ""
    handlers: list[str] = field(default_factory=list)
    binary_path: str = ""
    binary_sha256: str = ""
    pid: int | None = None
    parts: dict[str, str] = field(default_factory=dict)
    programs: list[ProgramFile] = field(default_factory=list)
    defaults: dict[str, str] = field(default_factory=dict)
    offers: dict[str, str] = field(default_factory=dict)
