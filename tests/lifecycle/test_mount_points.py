"""Parsing mountinfo."""

from critests.lifecycle.mount_points import parse, uppermost

TEXT = """\
36 35 98:0 /data /mnt\\040here rw,noatime master:1 propagate_from:2 - ext4 /dev/root rw,errors=continue
37 36 0:50 / /shm ro,nosuid - tmpfs shm rw,size=65536k
38 37 0:51 / /shm rw,relatime shared:7 - tmpfs none ro
"""


def test_a_mount_is_read_with_its_options_and_how_it_propagates() -> None:
    first = parse(TEXT)[0]

    assert (first.place, first.root, first.kind) == ("/mnt here", "/data", "ext4")
    assert first.options == {"rw", "noatime"}
    assert first.super_options == {"rw", "errors=continue"}
    assert first.propagation == {"master:1", "propagate_from:2"}
    assert not first.read_only


def test_a_mount_is_read_only_by_itself_or_with_its_file_system() -> None:
    _, by_itself, with_its_file_system = parse(TEXT)

    assert by_itself.read_only
    assert with_its_file_system.read_only
    assert by_itself.propagation == frozenset()


def test_uppermost_is_the_later_of_two_mounts_at_one_place() -> None:
    assert uppermost(parse(TEXT))["/shm"].propagation == {"shared:7"}
