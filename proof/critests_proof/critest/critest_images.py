"""The images that critest pulls, from the suite's own registry, so that critest works without a network.

critest has the names of most of its images in its source. A private runtime therefore pulls all images of
their public registries from a path of the suite's registry.
"""

from dataclasses import dataclass, field

from critests.images.catalogue import Changes, FileChange
from critests.images.registry_client import RegistryClient
from critests.images.repositories import MintedImage
from critests.node.starting.throwaway import ThrowawayRuntime

REGISTRIES = ("registry.k8s.io", "gcr.io", "k8s.gcr.io")
"""The public registries of critest's images."""
_PATH = "critest"
"""The path in the suite's registry instead of the name of a public registry."""
_ARCHITECTURES = ("amd64", "arm64")
_STAGING = "k8s-staging-cri-tools"
_SERVER = """#!/bin/sh
trap 'exit 0' TERM QUIT
echo $$ > /var/run/nginx.pid
echo httpd is ready
httpd -f -p {port} -h /www &
wait
"""
"""The web server of busybox in the place of nginx and Apache: specs read the pid file, look for a process
with this name and the argument below, and look for httpd in the log.
"""
_SERVER_ARGUMENT = "master process"

_PROGRAMS = {
    "usr/bin/pgrep": (
        "for process in /proc/[0-9]*; do\n"
        '    [ "$(cat "$process/comm" 2>/dev/null)" = "$1" ] && echo "${process#/proc/}"\n'
        "done\n"
    ),
    "usr/bin/ipcs": "cat /proc/sysvipc/shm\n",
}
"""Path to script: programs that specs run and some packages of busybox lack."""


@dataclass(frozen=True)
class CritestImage:
    """An image that critest pulls.

    Attributes:
        repository: without the name of the public registry.
        tags: of the image.
        changes: differences to the plain image.
    """

    repository: str
    tags: tuple[str, ...] = ("latest",)
    changes: Changes = field(default_factory=Changes)


def _web_server(port: int) -> Changes:
    files: list[FileChange] = [
        {"path": "usr/sbin/nginx", "content": _SERVER.format(port=port), "mode": 0o755},
        {"path": "var/run", "kind": "directory"},
        {"path": "www/index.html", "content": "<html><body>Welcome</body></html>\n"},
    ]
    return {"command": ["/usr/sbin/nginx", _SERVER_ARGUMENT], "files": files}


def _predefined_group() -> Changes:
    files: list[FileChange] = [
        {
            "path": "etc/passwd",
            "content": "root:x:0:0:root:/root:/bin/sh\ndefault-user:x:1000:1000::/:/bin/sh\n",
        },
        {
            "path": "etc/group",
            "content": "root:x:0:\ndefault-user:x:1000:\ngroup-defined-in-image:x:50000:default-user\n",
        },
    ]
    return {"user": "1000", "files": files}


def critest_images() -> tuple[CritestImage, ...]:
    """Return the images, without one that critest pulls by its digest and one with a program of its own."""
    users = {
        "uid": "1002",
        "username": "www-data",
        "uid-group": "1003:1003",
        "username-group": "www-data:www-data",
    }
    programs: list[FileChange] = [
        {"path": path, "content": f"#!/bin/sh\n{script}", "mode": 0o755} for path, script in _PROGRAMS.items()
    ]
    return (
        CritestImage("e2e-test-images/busybox", ("1.29-2",), {"files": programs}),
        CritestImage("e2e-test-images/nginx", ("1.14-2",), _web_server(80)),
        CritestImage("e2e-test-images/httpd", ("2.4.39-4",), _web_server(80)),
        *(
            CritestImage(f"{_STAGING}/hostnet-nginx-{name}", changes=_web_server(12003))
            for name in _ARCHITECTURES
        ),
        CritestImage(f"{_STAGING}/test-image-latest"),
        CritestImage(f"{_STAGING}/test-image-tag", ("test",)),
        CritestImage(f"{_STAGING}/test-image-tag", ("all",)),
        CritestImage(f"{_STAGING}/test-image-tags", ("1", "2", "3")),
        *(CritestImage(f"{_STAGING}/test-image-{number}") for number in (1, 2, 3)),
        *(
            CritestImage(f"{_STAGING}/test-image-user-{name}", changes={"user": user})
            for name, user in users.items()
        ),
        CritestImage(f"{_STAGING}/test-image-predefined-group", changes=_predefined_group()),
        CritestImage("pause", ("3.9",)),
    )


def add_images(registry: RegistryClient) -> list[MintedImage]:
    """Add the images to the suite's registry, each with an id of its own, and return them.

    Raises:
        RegistryError: the registry rejects one.
    """
    return [
        registry.mint(
            "plain",
            f"{_PATH}/{image.repository}",
            tags=image.tags,
            labels={"critest": f"{image.repository}:{image.tags[0]}"},
            changes=image.changes,
        )
        for image in critest_images()
    ]


def redirect_pulls(runtime: ThrowawayRuntime, registry: str) -> None:
    """Configure a private runtime to pull images of the public registries from the suite's registry, and
    restart its daemon.

    Args:
        runtime: a containerd or a CRI-O.
        registry: `host:port`.
    """
    if runtime.kind == "crio":
        text = "\n".join(
            f'[[registry]]\nprefix = "{name}"\nlocation = "{registry}/{_PATH}"\ninsecure = true\n'
            for name in REGISTRIES
        )
        (runtime.state / "registries.conf.d" / "critest.conf").write_text(text, encoding="utf-8")
    else:
        for name in REGISTRIES:
            folder = runtime.state / "certs.d" / name
            folder.mkdir(parents=True)
            (folder / "hosts.toml").write_text(
                f'server = "http://{registry}"\n\n[host."http://{registry}/v2/{_PATH}"]\n'
                '  capabilities = ["pull", "resolve"]\n  override_path = true\n',
                encoding="utf-8",
            )
    runtime.restart()
