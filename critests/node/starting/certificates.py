"""The certificate of a private runtime's streaming server."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from critests.loopback import loopback
from critests.node.host.openssl_program import run_openssl
from critests.runtimes.runtime_settings import RuntimeSetting, StreamingTls


def make_certificate(files: StreamingTls) -> None:
    """Write a new self-signed certificate for loopback, and its key.

    Raises:
        MissingProgram: openssl is missing.
    """
    how = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=critests"
    where = ["-addext", f"subjectAltName=IP:{loopback()}", "-keyout", str(files.key)]
    where += ["-out", str(files.certificate)]
    run_openssl(*how.split(), *where)


def with_certificates(settings: Sequence[RuntimeSetting], state: Path) -> list[RuntimeSetting]:
    """Write the certificates that do not exist yet.

    Args:
        settings: of a runtime.
        state: its directory, for certificates without an absolute path.

    Returns:
        The settings, with absolute paths.

    Raises:
        MissingProgram: openssl is missing.
    """
    return [
        _with_certificate(setting, state) if isinstance(setting, StreamingTls) else setting
        for setting in settings
    ]


def _with_certificate(setting: StreamingTls, state: Path) -> StreamingTls:
    files = replace(setting, certificate=state / setting.certificate, key=state / setting.key)
    if not files.certificate.exists():
        make_certificate(files)
    return files
