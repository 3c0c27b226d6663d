"""The runtime under load, passed to Locust's processes as a file."""

import json
from pathlib import Path
from typing import Final

from critests.benchmark.load.cycles import LoadTarget
from critests.client.deadlines import Deadlines
from critests.client.endpoint import Endpoint, TlsFiles
from critests.client.plain_connection import plain_stubs
from critests.lifecycle.cgroup_parents import CgroupDriver, CgroupParents
from critests.lifecycle.requests import ImageName, RequestBuilder
from critests.lifecycle.run_label import RunIdentity
from critests.run.context import RunContext, tls_files

TARGET: Final = "CRITESTS_LOAD_TARGET"
"""The environment variable that names the file."""


def write_target(context: RunContext, image: ImageName) -> Path:
    """Write the data that Locust's processes need into the run's directory, and return the path of the
    file.
    """
    files = tls_files(context.settings)
    path = context.run.data_directory / "load.json"
    path.touch(mode=0o600)
    path.write_text(
        json.dumps(
            {
                "endpoint": context.endpoint.text,
                "image_endpoint": context.image_endpoint.text,
                "tls": [str(file or "") for file in (files.ca, files.certificate, files.key)],
                "handler": context.settings.handlers[0],
                "run": context.run.id,
                "cgroup_driver": str(context.driver),
                "image": [image.reference, image.written],
                "deadline_scale": context.settings.scale,
            }
        ),
        encoding="utf-8",
    )
    return path


def connect_target(path: Path) -> LoadTarget:
    """Connect to the runtime that a file names; for the process that makes the calls."""
    target = json.loads(path.read_text(encoding="utf-8"))
    run = RunIdentity(target["run"])
    return LoadTarget(
        plain_stubs(
            Endpoint.parse(target["endpoint"]),
            Endpoint.parse(target["image_endpoint"]),
            TlsFiles(*(Path(file) if file else None for file in target["tls"])),
        ),
        RequestBuilder(
            run, run.data_directory / "logs", CgroupParents(run, CgroupDriver(target["cgroup_driver"]))
        ),
        ImageName(*target["image"]),
        target["handler"],
        Deadlines(target["deadline_scale"]),
    )
