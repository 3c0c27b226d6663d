from pathlib import Path

import pytest

from critests.node.cgroups import hugepages
from critests.node.cgroups.cgroup_mounts import CgroupFacts
from critests.node.cgroups.hugepages import hugepage_sizes, limited_sizes


def test_hugepage_sizes_have_the_kubelets_format(tmp_path: Path) -> None:
    for size in (1048576, 2048, 64):
        (tmp_path / f"hugepages-{size}kB").mkdir()

    assert hugepage_sizes(tmp_path) == ["64KB", "2MB", "1GB"]
    assert hugepage_sizes(tmp_path / "none") == []


@pytest.mark.parametrize(("controllers", "sizes"), [(("cpu", "hugetlb"), ["2MB"]), (("cpu",), [])])
def test_limited_sizes_require_the_hugetlb_controller(
    controllers: tuple[str, ...], sizes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hugepages, "cgroup_facts", lambda: CgroupFacts(2, "/sys/fs/cgroup", controllers))
    monkeypatch.setattr(hugepages, "hugepage_sizes", lambda: ["2MB"])

    assert limited_sizes() == sizes
