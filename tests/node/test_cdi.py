"""CDI specifications that the suite writes, and those of the machine."""

import json
from pathlib import Path

from critests.node.observing import cdi
from critests.node.observing.cdi import CdiFolder


def test_write_creates_a_specification_with_devices_and_edits(tmp_path: Path) -> None:
    folder = CdiFolder(tmp_path)

    kind = folder.write(
        {"one": cdi.variables("A=b"), "two": cdi.node("/dev/x", "/dev/null", "r")},
        everywhere=cdi.mount("/driver", "/usr"),
    )

    [file] = tmp_path.iterdir()
    assert json.loads(file.read_text()) == {
        "cdiVersion": "0.5.0",
        "kind": kind,
        "devices": [
            {"name": "one", "containerEdits": {"env": ["A=b"]}},
            {
                "name": "two",
                "containerEdits": {
                    "deviceNodes": [{"path": "/dev/x", "hostPath": "/dev/null", "permissions": "r"}]
                },
            },
        ],
        "containerEdits": {
            "mounts": [{"containerPath": "/driver", "hostPath": "/usr", "options": ["ro", "bind"]}]
        },
    }


def test_each_specification_has_a_new_kind_unless_it_replaces_one(tmp_path: Path) -> None:
    folder = CdiFolder(tmp_path)

    first, second = folder.write({}), folder.write({})
    folder.write({"one": cdi.hook("createRuntime", "/bin/sh", "-c", "true")}, first)

    assert first != second
    assert len(list(tmp_path.iterdir())) == 2


def test_clear_removes_only_its_own_specifications(tmp_path: Path) -> None:
    folder = CdiFolder(tmp_path)
    (tmp_path / "of-another.json").write_text("{}")
    folder.write({"one": cdi.variables("A=b")})
    folder.place("broken", "{")

    folder.clear()

    assert [path.name for path in tmp_path.iterdir()] == ["of-another.json"]


def test_write_waits_only_for_new_specifications(tmp_path: Path) -> None:
    waited: list[list[str]] = []
    folder = CdiFolder(tmp_path, until_read=lambda: waited.append([path.name for path in tmp_path.iterdir()]))

    kind = folder.write({"one": cdi.variables("A=b")})
    folder.write({"one": cdi.variables("A=c")}, kind)
    folder.place("broken", "{")

    assert waited == [[f"{kind.replace('/', '-')}.json"]]


def test_gpu_of_the_machine_is_read_from_the_vendors_specification(tmp_path: Path) -> None:
    (tmp_path / "broken.conf").write_text("no specification")
    (tmp_path / "net.json").write_text('{"kind": "vendor.example/nic", "devices": [{"name": "one"}]}')
    # as nvidia-ctk writes it
    (tmp_path / "nvidia.yaml").write_text(
        """cdiVersion: 0.5.0
kind: nvidia.com/gpu
containerEdits:
  deviceNodes:
  - path: /dev/nvidiactl
  mounts:
  - containerPath: /usr/bin/nvidia-smi
    hostPath: /usr/bin/nvidia-smi
    options: [ro, nosuid, nodev, bind]
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
"""
    )

    gpu = cdi.gpu_of_the_machine([tmp_path / "missing", tmp_path])

    assert gpu is not None
    assert (gpu.name, gpu.nodes) == ("nvidia.com/gpu=0", ("/dev/nvidia0", "/dev/nvidiactl"))
    assert gpu.files == ("/usr/bin/nvidia-smi",)
    assert json.loads(gpu.text)["kind"] == "nvidia.com/gpu"


def test_gpu_of_the_machine_is_none_without_a_specification(tmp_path: Path) -> None:
    assert cdi.gpu_of_the_machine([tmp_path]) is None
