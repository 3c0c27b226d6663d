"""The tables of documents, apart from images: their valid documents and the names of their variants."""

import io
import json
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

import pytest

from critests.documents import (
    cni_conduct,
    cni_network,
    cni_result,
    registries_conf,
    registry_hosts,
    user_lines,
)
from critests.documents.cdi_specification import specification_variants
from critests.documents.document_fields import Expected
from critests.documents.runtime_annotations import WITH_MEANING, Annotations, annotation_variants
from critests.documents.seccomp_profile import profile_variants
from critests.documents.user_files import PASSWD, ROOT, kinds_of_files, named_users

TABLES: dict[str, Callable[[], Iterator[object]]] = {
    **{
        f"result of {version}": partial(cni_conduct.result_conducts, version)
        for version in cni_result.VERSIONS
    },
    "errors": lambda: cni_conduct.error_conducts("1.0.0"),
    "ADD": lambda: cni_conduct.add_conducts("1.0.0"),
    "DEL": lambda: cni_conduct.del_conducts("1.0.0"),
    "VERSION": lambda: cni_conduct.version_conducts("1.0.0"),
    "other operations": lambda: cni_conduct.other_conducts("1.0.0"),
    "network": lambda: cni_network.network_variants("1.0.0", "plugin"),
    "CDI": lambda: specification_variants("vendor.example/class", "/dev/null", "/tmp"),
    "seccomp": lambda: profile_variants("SCMP_ARCH_X86_64", "/run/absent"),
    "annotations": lambda: annotation_variants(WITH_MEANING),
    "hosts": lambda: registry_hosts.hosts_variants("127.0.0.1:5010"),
    "choices of hosts": lambda: chain.from_iterable(
        choices("127.0.0.1:5010") for choices in registry_hosts.CHOICES.values()
    ),
    "registries": lambda: registries_conf.registries_variants("127.0.0.1:5010"),
    "choices of registries": lambda: chain.from_iterable(
        choices("127.0.0.1:5010", "critests/x") for choices in registries_conf.CHOICES.values()
    ),
    "users": lambda: chain(user_lines.valid_users(), user_lines.odd_users(), user_lines.passwd_files()),
    "groups": lambda: chain(user_lines.valid_groups(), user_lines.odd_groups(), user_lines.group_files()),
    "names of users": named_users,
    "kinds of files": lambda: kinds_of_files("/root/users"),
}


@pytest.mark.parametrize("table", TABLES)
def test_each_variant_has_a_name_of_its_own(table: str) -> None:
    """A breach names its variant."""
    names = Counter(str(variant) for variant in TABLES[table]())

    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("version", cni_result.VERSIONS)
def test_results_have_the_fields_of_their_version(version: str) -> None:
    """Before 1.0.0 each address has its family; 1.1.0 added fields of interfaces and routes."""
    result = cni_result.result(version)

    assert ("version" in result["ips"][0]) == version.startswith("0.")
    assert ("mtu" in result["routes"][0]) == (version == "1.1.0")


def test_an_add_that_does_not_exit_with_0_has_failed() -> None:
    """Whatever it prints: the specification leaves no choice."""
    failing = [
        conduct
        for conduct in (*cni_conduct.add_conducts("1.0.0"), *cni_conduct.error_conducts("1.0.0"))
        if conduct.answers["ADD"].exit_code != 0
    ]

    assert failing
    assert {conduct.expected for conduct in failing} == {Expected.REFUSED}


def test_the_plugin_of_a_network_is_named_by_its_type() -> None:
    """The name is that of a program in the directory of plugins."""
    variants = {
        str(each): json.loads(each.content)
        for each in cni_network.network_variants("1.0.0", "p")
        if each.expected is Expected.ACCEPTED
    }

    assert {each["plugins"][0]["type"] for each in variants.values()} == {"p"}


def test_a_valid_user_has_one_line_with_its_ids() -> None:
    """So that every reader finds the same."""
    for variant in user_lines.valid_users():
        with tarfile.open(fileobj=io.BytesIO(variant.layer)) as layer:
            file = layer.extractfile(PASSWD)
            assert file is not None
            lines = [line.split(":") for line in file.read().decode().splitlines()]

        ids = [(int(line[2]), int(line[3])) for line in lines if line[0] == variant.named.name]

        assert ids == [(variant.uid, variant.gid)]
        assert ROOT.strip().split(":") in lines


def test_the_parts_of_annotations_have_all_keys_once() -> None:
    """Those that are refused are tried in parts."""
    together = Annotations(tuple("abcde"), "is empty", "")

    halves, alone = list(together.parts(2)), list(together.parts(5))

    assert [part.keys for part in halves] == [("a", "b", "c"), ("d", "e")]
    assert [str(part) for part in alone] == [f"{key} is empty" for key in "abcde"]
