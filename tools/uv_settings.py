"""Print the pip settings of this machine as uv settings, in shell `export` lines.

uv does not read pip's configuration, so without this script tox would ignore the package index of the
machine. Existing uv variables in the environment take precedence.
"""

import os
import shlex
import ssl
import subprocess
import sys


def pip_settings() -> dict[str, str]:
    """Return the settings that pip uses: environment variables override the user's file, which overrides the
    machine's.
    """
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    settings: dict[str, tuple[int, str]] = {}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        section, _, key = name.rpartition(".")
        rank = {"global": 0, "install": 1, ":env:": 2}.get(section)
        if rank is not None and rank >= settings.get(key, (0, ""))[0]:
            settings[key] = rank, value.strip("'\"").replace("\\n", " ").strip()
    return {key: value for key, (_, value) in settings.items()}


def for_uv(pip: dict[str, str]) -> dict[str, str]:
    """Return the environment in which uv uses pip's indexes, with pip's choice among several."""
    uv = {"UV_PYTHON_DOWNLOADS": "never"}
    if ssl.get_default_verify_paths().cafile:
        uv["UV_SYSTEM_CERTS"] = (
            "1"  # as pip does; uv's list of authorities does not contain those that the machine adds
        )
    if "index-url" in pip:
        uv["UV_DEFAULT_INDEX"] = pip["index-url"]
    if "extra-index-url" in pip:
        uv["UV_INDEX"] = pip["extra-index-url"]
        uv["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    if "find-links" in pip:
        uv["UV_FIND_LINKS"] = ",".join(pip["find-links"].split())
    if pip.get("no-index", "").lower() in {"1", "true", "yes", "on"}:
        uv["UV_NO_INDEX"] = "1"
    if "trusted-host" in pip:
        uv["UV_INSECURE_HOST"] = pip["trusted-host"]
    if "cert" in pip:
        uv["SSL_CERT_FILE"] = pip["cert"]
    if "proxy" in pip:
        uv["ALL_PROXY"] = pip["proxy"]
    return uv


if __name__ == "__main__":
    for name, value in for_uv(pip_settings()).items():
        if name not in os.environ:
            print(f"export {name}={shlex.quote(value)}")
