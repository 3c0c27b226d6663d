import subprocess
import sysconfig
from pathlib import Path

import pytest

from critests.cli import bundle
from critests.images.platforms import machine_architecture
from critests.images.rootfs import Busybox

INSTALLER = Path(bundle.__file__).parent / "bundle_install.sh"


@pytest.fixture
def members(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    asked: list[object] = []

    def find(architecture: object) -> Busybox:
        asked.append(architecture)
        return Busybox(Path("/bin/busybox"), b"busybox", ("sh",))

    monkeypatch.setattr(bundle, "find_busybox", find)
    names = [member.name for member in bundle._members()]
    assert asked == [machine_architecture()]
    return names


def test_a_bundle_has_critests_and_all_that_it_requires(members: list[str]) -> None:
    assert {
        "install.sh",
        "busybox",
        "packages/critests/__init__.py",
        f"packages/critests/images/programs/{machine_architecture()}/pause",
        "packages/grpc/__init__.py",
        "packages/pluggy/__init__.py",  # which only pytest requires
    } <= set(members)
    # pytest finds its plugins by them
    assert any(name.startswith("packages/pytest_xdist-") for name in members)


def test_a_bundle_has_no_file_twice_and_none_of_this_machine(members: list[str]) -> None:
    assert len(members) == len(set(members))
    assert not [name for name in members if name.endswith((".pyc", ".pth", ".faults.toml"))]
    assert not [name for name in members if ".." in Path(name).parts or name.endswith("direct_url.json")]


def install(folder: Path, abi: str, target: Path) -> "subprocess.CompletedProcess[str]":
    folder.mkdir()
    (folder / "install.sh").write_bytes(INSTALLER.read_bytes())
    (folder / "python-abi").write_text(f"{abi}\n")
    return subprocess.run(["sh", folder / "install.sh", target], capture_output=True, text=True, check=False)


def test_another_python_is_rejected_by_its_name(tmp_path: Path) -> None:
    rejected = install(tmp_path / "bundle", "cpython-39-x86_64-linux-gnu", tmp_path / "there")

    assert rejected.returncode == 1
    assert "this bundle is for Python 3.9" in rejected.stderr
    assert not (tmp_path / "there").exists()


def test_a_folder_with_other_files_stays(tmp_path: Path) -> None:
    other = tmp_path / "there"
    other.mkdir()
    (other / "mine").write_text("")

    rejected = install(tmp_path / "bundle", str(sysconfig.get_config_var("SOABI")), other)

    assert rejected.returncode == 1
    assert [path.name for path in other.iterdir()] == ["mine"]
