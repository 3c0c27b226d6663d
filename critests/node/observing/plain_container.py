"""Whether an OCI runtime can create a minimal container on this machine, without a daemon.

If it cannot, and another OCI runtime can with the same bundle, the daemon is not the cause.
"""

import subprocess
import tempfile
from pathlib import Path

from critests.images.platforms import machine_architecture
from critests.images.programs import program as container_program
from critests.node.observing.oci_probe import refused_words


def refused_alone(program: Path, reference: Path | None, cgroup: str) -> str:
    """Return what an OCI runtime says where it refuses the plainest container, and says so twice; empty where
    it makes one, or where the bundle or the machine may be to blame.

    Args:
        program: the OCI runtime.
        reference: another one, which makes a container of this bundle; None where there is none.
        cgroup: base name of the cgroup below which the container is put.
    """
    if reference is None or program.resolve() == reference.resolve():
        return ""
    try:
        with tempfile.TemporaryDirectory(prefix="critests-plain-") as directory:
            place = Path(directory)
            words = _asked(program, place, cgroup)
            if not words or _asked(program, place, cgroup) != words:
                return ""
            return words if not _asked(reference, place, cgroup) else ""
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _asked(program: Path, place: Path, cgroup: str) -> str:
    files = place / "files"
    files.mkdir(exist_ok=True)
    pause = files / "pause"
    if not pause.exists():
        pause.write_bytes(container_program("pause", machine_architecture()))
        pause.chmod(0o755)
    document = {
        "ociVersion": "1.0.0",
        "process": {"user": {"uid": 0, "gid": 0}, "args": ["/pause"], "env": ["PATH=/"], "cwd": "/"},
        "root": {"path": str(files)},
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["mode=755"]},
        ],
        "linux": {
            "cgroupsPath": f"/{cgroup}/critests-plain",
            "namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts")],
        },
    }
    return refused_words(program, document, place)
