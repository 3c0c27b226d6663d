"""The images and the registry with a real containerd."""

import os
import shutil
import tarfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.client.connection import Connection, connect
from critests.client.endpoint import Endpoint
from critests.images.catalogue import IMAGES, Content
from critests.images.oci_layout import write_layout
from critests.images.registry_client import RegistryClient, repository_of
from critests.images.repositories import MintedImage
from critests.lifecycle.cgroup_parents import CgroupDriver, CgroupParents
from critests.lifecycle.container import Container
from critests.lifecycle.requests import ImageName, RequestBuilder
from critests.lifecycle.run_label import RunIdentity
from critests.lifecycle.sandbox import Sandbox
from critests.lifecycle.waiting import eventually
from critests.node.starting.image_import import import_image
from critests.node.starting.throwaway import ThrowawayRuntime
from critests.node.starting.with_registry import throwaway_with_registry

pytestmark = [
    pytest.mark.runtime,
    pytest.mark.skipif(
        os.geteuid() != 0 or not shutil.which("containerd"), reason="needs root and a containerd"
    ),
]

NOT_PULLABLE = {"foreign-index", "wrong-diff-id"}
UP_TO_THE_RUNTIME = {name for name, spec in IMAGES.items() if spec.content is Content.ARTIFACT}


@dataclass
class Node:
    """A private containerd and a registry."""

    run: RunIdentity
    runtime: ThrowawayRuntime
    client: RegistryClient
    connection: Connection
    sandbox: Sandbox
    builder: RequestBuilder

    def mint(self, name: str, salt: str = "") -> MintedImage:
        return self.client.mint(
            name, repository_of(self.run.id, salt or name), salt=salt, labels=self.run.labels
        )

    def pull(self, reference: str) -> str:
        request = cri.PullImageRequest(image=cri.ImageSpec(image=reference))
        return str(self.connection.images.PullImage(request).image_ref)

    def start(self, name: str, *command: str) -> Container:
        image = self.mint(name)
        config = self.builder.container(
            ImageName(self.pull(image.reference), image.reference), command=command
        )
        container = Container.create(self.sandbox, config)
        container.start()
        return container

    def output(self, name: str, *command: str) -> list[str]:
        container = self.start(name, *command)
        container.exited()
        return container.final_log_lines()


@pytest.fixture(
    scope="module",
    params=[each for each in os.environ.get("CRITESTS_TEST_CONTAINERDS", "").split(":") if each]
    or ["containerd"],
)
def node(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    run = RunIdentity.new()
    binary = Path(shutil.which(request.param) or request.param)
    with throwaway_with_registry(run_id=run.id, binary=binary) as (runtime, client):
        connection = connect(Endpoint.parse(runtime.endpoint))
        cgroups = CgroupParents(run, CgroupDriver.CGROUPFS)
        builder = RequestBuilder(run, tmp_path_factory.mktemp("logs"), cgroups)
        sandbox = Sandbox.run(connection, builder.sandbox())
        yield Node(run, runtime, client, connection, sandbox, builder)
        sandbox.discard()
        connection.close()
        cgroups.remove()


@pytest.mark.parametrize("name", [name for name in IMAGES if name not in UP_TO_THE_RUNTIME])
def test_every_image_is_pulled_or_rejected_as_expected(node: Node, name: str) -> None:
    image = node.mint(name)

    if name in NOT_PULLABLE:
        with pytest.raises(grpc.RpcError):
            node.pull(image.reference)
    else:
        assert [node.pull(reference) for reference in image.references] == [image.config_digest] * len(
            image.references
        )


OUTPUTS = [
    pytest.param(
        "plain",
        ["sh", "-c", "id -u; stat -c %a /tmp; [ 1 = 1 ] && echo shell"],
        ["0", "1777", "shell"],
        id="plain",
    ),
    pytest.param("user-number", ["id", "-u"], ["1000"], id="user by number"),
    pytest.param(
        "user-number-group", ["sh", "-c", "id -u; id -g"], ["1000", "2000"], id="user and group by number"
    ),
    pytest.param("user-name", ["id", "-un"], ["tester"], id="user by name"),
    pytest.param("user-name-group", ["id", "-gn"], ["crew"], id="group by name"),
    pytest.param("entrypoint-only", [], ["entrypoint"], id="entrypoint without command"),
    pytest.param(
        "many-layers", ["sh", "-c", "cat /layers/last; ls /layers | wc -l"], ["40", "41"], id="many layers"
    ),
    pytest.param(
        "whiteouts",
        [
            "sh",
            "-c",
            "ls /data /opaque; cat /data/replaced; ls -d /removed-directory 2>/dev/null || echo gone",
        ],
        ["/data:", "kept", "replaced", "", "/opaque:", "new", "new", "gone"],
        id="whiteouts",
    ),
    pytest.param(
        "archive",
        [
            "sh",
            "-c",
            (
                "cd /archive; stat -c '%a %u %g %h' first; stat -c %a setuid sticky; cat absolute; find long"
                " -type f | wc -l"
            ),
        ],
        ["640 1000 2000 2", "4755", "1777", "linked", "1"],
        id="what an archive can hold",
    ),
    pytest.param("docker", ["cat", "/docker"], ["docker"], id="Docker's media types"),
    pytest.param("uncompressed", ["cat", "/layer"], ["tar"], id="a layer without compression"),
    pytest.param("zstd", ["cat", "/layer"], ["zstd"], id="a layer packed with zstd"),
    pytest.param("index", ["echo", "native"], ["native"], id="an index"),
]


@pytest.mark.parametrize(("name", "command", "printed"), OUTPUTS)
def test_a_container_has_the_files_of_its_image(
    node: Node, name: str, command: list[str], printed: list[str]
) -> None:
    assert node.output(name, *command) == printed


def test_the_programs_run_in_a_container(node: Node) -> None:
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)

    assert before < int(node.output("tools", "clock")[0]) < time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    assert node.output("tools", "sys", "getpid") == ["ret=1 errno=0"]


def test_an_image_imported_from_a_layout_has_its_full_name(node: Node, tmp_path: Path) -> None:
    (image,) = write_layout(tmp_path / "layout", names=["user-absent"])
    with tarfile.open(tmp_path / "layout.tar", "w") as archive:
        archive.add(tmp_path / "layout", ".")

    import_image(node.runtime, tmp_path / "layout.tar", image.imported_as)

    request = cri.ImageStatusRequest(image=cri.ImageSpec(image=image.imported_as))
    tags = eventually(
        "a name of the imported image",
        lambda: list(node.connection.images.ImageStatus(request).image.repo_tags),
        10,
    )
    assert tags == ["localhost/critests/user-absent:1"]
    node.connection.images.RemoveImage(cri.RemoveImageRequest(image=request.image))


def test_the_process_image_runs_with_its_settings(node: Node) -> None:
    container = node.start("process")
    container.wait_for_log("PWD=/work")

    printed = container.log_lines()
    assert printed[:2] == ["entrypoint command from image", "/work"]
    assert {"FROM_IMAGE=image value", "EMPTY=", "WITH_EQUALS=a=b"} <= set(printed)
    container.kill()
