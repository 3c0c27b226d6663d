"""MNT: single bind mounts of directories and files of the host."""

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Containers,
    FileChange,
    RecordVariant,
    Registry,
    Runtime,
    blocked,
    lingering,
    may_be_refused,
    requirement,
    requires,
)

READ_ONLY = "Read-only file system"


@requirement("MNT-01")
@requires(Capability.SAME_HOST)
@pytest.mark.parametrize("name", ["folder", "file"])
def test_a_host_path_is_mounted_at_the_container_path(
    containers: Containers, host_folder: Path, name: str
) -> None:
    """A mount MUST show a directory or file of the host at `container_path`, and the runtime MUST create that
    path where the image lacks it.

    Source: Mount.container_path and host_path.
    """
    (host_folder / "folder").mkdir()
    (host_folder / "folder/inside").write_text("in the folder\n")
    (host_folder / "file").write_text("in the file\n")

    config = containers.config(
        mounts=[cri.Mount(container_path="/made/for/it", host_path=str(host_folder / name))],
        # the first command is for a directory, the second for a file
        script="cd /made/for/it && cat inside || cat /made/for/it",
    )
    container = containers.attempt(config)
    container.exited()

    assert container.log_lines("stdout") == [f"in the {name}"]


@requirement("MNT-02")
@requires(Capability.SAME_HOST)
def test_writes_are_visible_on_the_host_and_in_the_container(
    containers: Containers, host_folder: Path
) -> None:
    """A writable mount MUST show the container what the host writes below it, and the host what the container
    writes.

    Source: Mount.readonly.
    """
    container = containers.running(mounts=[cri.Mount(container_path="/mounted", host_path=str(host_folder))])

    (host_folder / "of-the-host").write_text("from the host\n")
    read_inside = container.output("cat", "/mounted/of-the-host")
    container.output("sh", "-c", "echo from the container > /mounted/of-the-container")

    assert read_inside == "from the host"
    assert (host_folder / "of-the-container").read_text() == "from the container\n"


@requirement("MNT-01")
@requires(Capability.SAME_HOST)
def test_a_program_of_the_host_can_be_run(containers: Containers, host_folder: Path) -> None:
    """A mount MUST NOT be `noexec` unless the request says so: a container can run a program of the host
    below it.

    Source: Mount, which names every option of mount(8) that it requests.
    """
    # a bind mount inherits the flag from the mount of its source
    if os.statvfs(host_folder).f_flag & os.ST_NOEXEC:
        blocked(f"{host_folder} is on a file system mounted with noexec")
    program = host_folder / "program"
    program.write_text("#!/bin/sh\necho it runs\n")
    program.chmod(0o755)

    container = containers.running(mounts=[cri.Mount(container_path="/mounted", host_path=str(host_folder))])

    assert container.output("/mounted/program") == "it runs"


@requirement("MNT-03")
@requires(Capability.SAME_HOST)
def test_nothing_can_be_written_below_a_read_only_mount(containers: Containers, host_folder: Path) -> None:
    """A mount with `readonly` MUST reject writes, removals and changes of mode below it, by the container's
    process and by an exec, with the error of a read-only file system.

    Source: Mount.readonly.
    """
    (host_folder / "old").write_text("as it was\n")
    commands = ("touch /mounted/new", "rm /mounted/old", "chmod 0 /mounted/old", "echo x >> /mounted/old")
    container = containers.running(
        mounts=[cri.Mount(container_path="/mounted", host_path=str(host_folder), readonly=True)],
        # each in a shell, as the execs below run them
        first="; ".join(f"sh -c '{each}'" for each in commands) + "; echo tried >&2",
        wait_for_log="tried",
    )

    exec_responses = [container.exec("sh", "-c", each) for each in commands]

    errors = container.log_lines("stderr")[:-1]
    assert [READ_ONLY in line for line in errors] == [True] * len(commands), errors
    assert [READ_ONLY in response.stderr.decode() for response in exec_responses] == [True] * len(commands)
    assert {path.name: path.read_text() for path in host_folder.iterdir()} == {"old": "as it was\n"}


@requirement("MNT-09/error")
@requires(Capability.SAME_HOST)
def test_a_missing_host_path_is_refused(containers: Containers, host_folder: Path) -> None:
    """CreateContainer or StartContainer SHOULD reject a mount whose `host_path` does not exist.

    Source: Mount.host_path, which must exist; the kubelet creates the directories that it needs.
    """
    mount = cri.Mount(container_path="/mounted", host_path=str(host_folder / "missing"))

    containers.refusal(containers.config(mounts=[mount]))

    assert not (host_folder / "missing").exists()


@requirement("MNT-09/form")
@requires(Capability.SAME_HOST)
def test_form_of_a_mount_of_a_missing_host_path(
    containers: Containers, host_folder: Path, record_variant: RecordVariant
) -> None:
    """A runtime MAY create a missing `host_path` as a directory instead of rejecting the mount; the container
    then finds that directory.

    Source: Mount.host_path; containerd and CRI-O create it.
    """
    mount = cri.Mount(container_path="/mounted", host_path=str(host_folder / "missing"))
    container = None

    with may_be_refused():
        container = containers.attempt(containers.config(mounts=[mount]))

    record_variant("refused" if container is None else "the directory is made")
    if container is not None:
        container.output("touch", "/mounted/inside")
        assert (host_folder / "missing/inside").exists()


LINKS = {
    "a link": ("link", {"link": "target"}),
    "an absolute link": ("link", {"link": "{folder}/target"}),
    "a chain of links": ("first", {"first": "second", "second": "{folder}/third", "third": "./target"}),
    "a link among the parents": ("up/target", {"up": "."}),
}
"""By case: the path to mount, and the links between it and the directory `target`."""


def mount_of_links(folder: Path, case: str) -> cri.Mount:
    """Create the links of a case in a directory of the host, and return a mount of the path over them."""
    path, links = LINKS[case]
    (folder / "target").mkdir()
    (folder / "target/inside").write_text("behind the link\n")
    for name, target in links.items():
        (folder / name).symlink_to(target.format(folder=folder))
    return cri.Mount(container_path="/mounted", host_path=str(folder / path))


@requires(Capability.SAME_HOST)
@pytest.mark.parametrize(
    "case",
    [
        pytest.param("a link", marks=requirement("MNT-10")),
        *(pytest.param(case, marks=requirement("MNT-11")) for case in LINKS if case != "a link"),
    ],
)
def test_symbolic_links_in_a_host_path_are_resolved(
    containers: Containers, host_folder: Path, case: str
) -> None:
    """A `host_path` that is a symbolic link MUST be resolved to its target, as MUST chains of links, absolute
    links, and links among its parent directories.

    Source: Mount.host_path.
    """
    container = containers.exited(
        mounts=[mount_of_links(host_folder, case)], script=lingering("cat /mounted/inside")
    )

    assert container.log_lines("stdout") == ["behind the link"]


@requirement("MNT-12")
@requires(Capability.SAME_HOST)
def test_a_link_of_the_image_is_not_resolved_on_the_host(
    containers: Containers, host_folder: Path, registry: Registry
) -> None:
    """A `container_path` that is a symbolic link of the image MUST be resolved within the container's root:
    nothing is mounted at the link's target on the host.

    Source: Mount.container_path, a path in the container.
    """
    outside, mounted = make_outside_and_mounted(host_folder)
    image = registry.pull(registry.mint(changes={"files": [target_in_image(outside), link_to(outside)]}))

    container = containers.running(
        image=image, mounts=[cri.Mount(container_path="/link", host_path=str(mounted))]
    )

    assert container.output("cat", "/link/inside") == "mounted"
    assert (outside / "inside").read_text() == "outside\n"


@requirement("MNT-12")
@requires(Capability.SAME_HOST)
def test_a_dangling_link_of_the_image_is_not_resolved_on_the_host(
    containers: Containers, host_folder: Path, registry: Registry
) -> None:
    """A `container_path` that is a symbolic link with no target in the image MUST NOT be resolved on the
    host: the runtime creates the target in the container, or rejects the mount.

    Source: Mount.container_path, a path in the container.
    """
    outside, mounted = make_outside_and_mounted(host_folder)
    image = registry.pull(registry.mint(changes={"files": [link_to(outside)]}))
    mount = cri.Mount(container_path="/link", host_path=str(mounted))

    container = None
    with may_be_refused():
        container = containers.attempt(containers.config(image=image, mounts=[mount]))

    assert (outside / "inside").read_text() == "outside\n"
    assert container is None or container.output("cat", "/link/inside") == "mounted"


def make_outside_and_mounted(host_folder: Path) -> tuple[Path, Path]:
    """Create two directories of the host: one that no container may reach, and one to mount."""
    # both have a file `inside`, whose text shows which of them a path leads to
    outside, mounted = host_folder / "outside", host_folder / "mounted"
    for folder in (outside, mounted):
        folder.mkdir()
        (folder / "inside").write_text(f"{folder.name}\n")
    return outside, mounted


def link_to(outside: Path) -> FileChange:
    """Return a link of the image whose target, on the host, is the directory `outside`."""
    return FileChange(path="link", kind="symlink", target=str(outside))


def target_in_image(outside: Path) -> FileChange:
    """Return a file that gives the link a target within the image."""
    return FileChange(path=f"{outside}/of-the-image".removeprefix("/"), content="image\n")


@requirement("MNT-13/relative")
@requires(Capability.SAME_HOST)
def test_a_relative_path_of_the_container(
    containers: Containers, host_folder: Path, record_variant: RecordVariant
) -> None:
    """A relative `container_path` MAY be rejected, or resolved from the container's root.

    Source: Mount.container_path, which is absolute; the API does not define the use of a relative one.
    """
    (host_folder / "inside").write_text("found\n")
    mount = cri.Mount(container_path="relative/path", host_path=str(host_folder))
    container = None

    with may_be_refused():
        container = containers.attempt(containers.config(mounts=[mount]))

    record_variant("refused" if container is None else "taken from the root")
    if container is not None:
        assert container.output("cat", "/relative/path/inside") == "found"


@pytest.mark.parametrize(
    ("place", "source"),
    [
        pytest.param(
            "",
            "folder",
            marks=[requirement("MNT-13/empty"), requires(Capability.SAME_HOST)],
            id="no path of the container",
        ),
        pytest.param("/mounted", "", marks=requirement("MNT-33"), id="no host path"),
    ],
)
def test_an_incomplete_mount_is_refused(
    containers: Containers, host_folder: Path, place: str, source: str
) -> None:
    """CreateContainer or StartContainer SHOULD reject a mount without `container_path`, and one with neither
    `host_path` nor `image`.

    Source: Mount.container_path, and Mount.host_path, which may be empty if `image` is set. Not stated by the
    CRI for `container_path`; a mount over the root would hide the image.
    """
    mount = cri.Mount(container_path=place, host_path=source and str(host_folder))

    containers.refusal(containers.config(mounts=[mount]))


@contextmanager
def special_file(kind: str, path: Path) -> Iterator[None]:
    """Create a file of a kind at a path of the host."""
    if kind == "socket":
        # `bind` creates the file
        with closing(socket.socket(socket.AF_UNIX)) as listener:
            listener.bind(str(path))
            yield
        return
    if kind == "fifo":
        os.mkfifo(path)
    else:
        # major 7, minor 0: the first loop device, which nothing opens here
        os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(7, 0))
    yield


@requirement("MNT-21")
@requires(Capability.SAME_HOST, Capability.ROOT)
@pytest.mark.parametrize("kind", ["socket", "fifo", "block special file"])
def test_special_files_retain_their_type(
    runtime: Runtime, containers: Containers, host_folder: Path, kind: str
) -> None:
    """A mount of a socket, a FIFO or a block device SHOULD show the same kind of file in the container.

    Source: Mount.host_path; the kubelet mounts them so for hostPath volumes of these types.
    """
    path = host_folder / "special"
    with special_file(kind, path):
        container = containers.exited(
            mounts=[cri.Mount(container_path="/special", host_path=str(path))],
            # the inode identifies the file of the host; a copy or a new file would have another one
            script=lingering("stat -c '%F %i' /special"),
        )

        found, _, inode = "".join(container.log_lines("stdout")).rpartition(" ")
        assert found == kind
        # a kernel of the sandbox's own has inode numbers of its own
        if runtime.has(Capability.SHARED_KERNEL):
            assert int(inode) == path.stat().st_ino
