from pathlib import Path

from critests.node.hugepages import hugepage_sizes


def test_sizes_are_written_as_the_kubelet_does(tmp_path: Path) -> None:
    for size in (1048576, 2048, 64):
        (tmp_path / f"hugepages-{size}kB").mkdir()

    assert hugepage_sizes(tmp_path) == ["64KB", "2MB", "1GB"]
    assert hugepage_sizes(tmp_path / "none") == []
