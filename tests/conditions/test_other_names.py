"""The names of the condition `other-names` are those that Kubernetes admits."""

import re
from pathlib import Path

import pytest

from critests.conditions.other_names import OtherNames
from critests.lifecycle import run_label
from critests.lifecycle.cgroup_parents import CgroupDriver, CgroupParents
from critests.lifecycle.requests import ImageName, RequestBuilder
from critests.lifecycle.run_label import RUN_LABEL, RunIdentity

LABEL = re.compile(r"(?=.{1,63}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?")
SUBDOMAIN = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
NAME = re.compile(r"(?=.{1,63}$)[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
"""As Kubernetes validates them: IsDNS1123Label, IsDNS1123Subdomain, IsQualifiedName, IsValidLabelValue."""
RUN = RunIdentity("1700000000-abcdef")


@pytest.fixture
def requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RequestBuilder:
    monkeypatch.setattr(run_label, "DATA_HOME", tmp_path)
    return RequestBuilder(RUN, tmp_path, CgroupParents(RUN, CgroupDriver.UNKNOWN), names=OtherNames(7))


def is_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    return bool(NAME.fullmatch(name)) and (not slash or bool(SUBDOMAIN.fullmatch(prefix)))


def test_pods_have_every_form_and_each_is_legal(requests: RequestBuilder) -> None:
    pods = [requests.sandbox() for _ in range(60)]

    names = {pod.metadata.name for pod in pods}
    assert all(SUBDOMAIN.fullmatch(name) for name in names)
    assert max(map(len, names)) == 253
    assert any(name.isdigit() for name in names)
    assert len(names) == 60
    assert {len(pod.metadata.namespace) for pod in pods} == {63}
    assert all(LABEL.fullmatch(pod.metadata.namespace) and LABEL.fullmatch(pod.hostname) for pod in pods)
    assert {len(pod.metadata.uid) for pod in pods} == {32, 36}


def test_containers_have_every_form_and_each_is_legal(requests: RequestBuilder) -> None:
    configs = [requests.container(ImageName("i", "i")) for _ in range(60)]

    names = {config.metadata.name for config in configs}
    assert all(LABEL.fullmatch(name) for name in names)
    assert (max(map(len, names)), len(names)) == (63, 60)
    assert len({config.log_path for config in configs}) == 60
    assert all(len(config.log_path) <= 255 and "/" not in config.log_path for config in configs)


def test_labels_and_annotations_are_legal(requests: RequestBuilder) -> None:
    for config in (requests.sandbox(), requests.container(ImageName("i", "i"))):
        assert all(is_key(key) for key in (*config.labels, *config.annotations))
        given = [value for key, value in config.labels.items() if not key.startswith("io.kubernetes")]
        assert all(NAME.fullmatch(value) for value in given)
        assert sum(len(f"{key}{value}".encode()) for key, value in config.annotations.items()) < 256 * 1024
        assert any(ord(character) > 127 for value in config.annotations.values() for character in value)
        assert config.labels[RUN_LABEL] == RUN.id


def test_tags_of_images_are_legal() -> None:
    tags = {tag for seed in range(20) for tag in OtherNames(seed).image_tags()}

    assert all(re.fullmatch(r"\w[\w.-]{0,127}", tag, re.ASCII) for tag in tags)
    assert max(map(len, tags)) == 128


def test_what_a_test_names_stays(requests: RequestBuilder) -> None:
    pod = requests.sandbox("web", namespace="", uid="2f1c", labels={"1": "mine"})

    assert (pod.metadata.name, pod.metadata.namespace, pod.metadata.uid) == ("web", "", "2f1c")
    assert pod.labels["1"] == "mine"


def test_a_seed_has_its_forms() -> None:
    def forms(seed: int) -> list[int]:
        names = OtherNames(seed)
        return [len(names.container()) > 62 for _ in range(30)]

    assert forms(1) == forms(1)
    assert forms(1) != forms(2)
