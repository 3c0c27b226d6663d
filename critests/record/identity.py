"""Which runtime a run looked at."""

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class ProgramFile:
    """One program that a runtime consists of.

    Attributes:
        role: What it does: `daemon`, `OCI runtime`, `shim`, `monitor`, `CNI plugin` or `helper`.
        path: Absolute path of the file.
        version: The first line that it prints for `--version`, or empty where it prints none.
        sha256: Digest of the file, hexadecimal, or empty where it cannot be read.
    """

    role: str
    path: str
    version: str = ""
    sha256: str = ""


@dataclass(frozen=True, kw_only=True)
class RuntimeIdentity:
    """Which runtime was looked at.

    Attributes:
        name: The name that Version reports.
        version: The version that Version reports.
        api_version: The CRI version that Version reports.
        endpoint: Address of the runtime service.
        image_endpoint: Address of the image service, the same where there is one socket.
        handlers: Runtime handlers that the run used; empty string is the default one.
        binary_path: Path of the daemon's binary where it is visible, else empty.
        binary_sha256: Its SHA-256, hexadecimal, else empty.
        pid: Process id of the daemon, or None where it is not visible.
        parts: What it works with, by name, `OCI runtime` or `storage`, as far as that is known.
        programs: The files that it consists of, the daemon first. Of a runtime that was not started for the
            run only the daemon, where its process is visible.
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
