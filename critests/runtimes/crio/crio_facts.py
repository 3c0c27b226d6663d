"""CRI-O."""

from pathlib import Path
from typing import Final

from critests.runtimes.runtime_facts import Monitor, RuntimeKind

CRIO: Final = RuntimeKind(
    name="crio",
    title="CRI-O",
    reported_name="cri-o",
    program="crio",
    sockets=(Path("/run/crio/crio.sock"),),
    helpers=("conmon", "pinns"),
    helper_directories=tuple(
        Path(directory)
        for directory in ("/usr/libexec/crio", "/usr/lib/crio", "/usr/libexec/podman", "/usr/lib/podman")
    ),
    with_version=("conmon",),
    packages={"crio": "cri-o", "pinns": "cri-o"},
    monitor=Monitor(name="conmon", names_folder=True),
    shared_directories=(
        Path("/run/crio"),
        Path("/run/containers"),
        Path("/var/lib/containers"),
        Path("/var/lib/containers/cache"),
    ),
    # the cache of layers by registry, of the current library (SQLite) and the earlier one (BoltDB)
    shared_files=tuple(
        Path("/var/lib/containers/cache", f"blob-info-cache-v1.{form}") for form in ("sqlite", "boltdb")
    ),
    apparmor_profile="crio-default",
    # from the first patch release on: the main branch reports 1.N.0 before it has the API of 1.N
    api_levels=(
        ("1.25.1", 25),
        ("1.26.1", 26),
        ("1.27.1", 27),
        ("1.28.1", 28),
        ("1.29.1", 29),
        ("1.30.1", 30),
        ("1.31.1", 31),  # 1.32 has the same API
        ("1.33.1", 33),
        ("1.34.1", 34),
        ("1.35.1", 35),
        ("1.36.1", 36),
    ),
)
