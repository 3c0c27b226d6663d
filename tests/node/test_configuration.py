import json
import os
import tomllib
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from critests.node.host import binaries
from critests.node.host.binaries import MissingProgram, version_numbers, version_text
from critests.node.run_state.footprint import Footprint
from critests.node.starting import daemon_choice
from critests.node.starting.daemon_choice import find_daemon
from critests.runtimes.containerd import containerd_configuration
from critests.runtimes.crio import crio_configuration
from critests.runtimes.daemon_settings import DaemonSettings
from critests.runtimes.private_kinds import KINDS
from critests.runtimes.runtime_settings import (
    CniTemplate,
    Credentials,
    LogCap,
    NoEvents,
    NriPlugins,
    RuntimeSetting,
    SettingNotSupported,
    SplitStorage,
)
from tests.node.footprints import footprint_in
from tests.programs import program

PAUSE = "127.0.0.1:5010/critests/pause:1"
SETTINGS = DaemonSettings(
    version=(1, 7, 24),
    handlers={"runc": Path("/usr/sbin/runc"), "crun": Path("/usr/bin/crun")},
    cni_plugins=Path("/usr/lib/cni"),
    pause_image=PAUSE,
    registry_addresses=["127.0.0.1:5010"],
    may_lower_oom_score=False,
    helpers={"conmon": Path("/usr/bin/conmon"), "pinns": Path("/usr/libexec/crio/pinns")},
)


@pytest.fixture
def footprint(tmp_path: Path) -> Footprint:
    (tmp_path / "state").mkdir()
    return footprint_in(tmp_path)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3", (1, 6, 20)),
        ("containerd github.com/containerd/containerd/v2 2.1.9+unknown ", (2, 1, 9)),
        (
            (
                "containerd github.com/containerd/containerd/v2 v2.2.0-rc.1"
                " 1c4457e00facac03ce1d75f7b6777a7a851e5c41"
            ),
            (2, 2, 0),
        ),
        ("crio version 1.37.0", (1, 37, 0)),
        ("containerd (devel)", None),
    ],
)
def test_version_numbers_are_parsed_from_the_formats_of_distributions(
    text: str, numbers: tuple[int, int, int] | None
) -> None:
    assert version_numbers(text) == numbers


def test_containerd_1_has_version_2_of_the_configuration(footprint: Footprint) -> None:
    data = tomllib.loads(containerd_configuration.configuration(footprint, SETTINGS))
    cri = data["plugins"]["io.containerd.grpc.v1.cri"]
    assert data["version"] == 2
    assert cri["sandbox_image"] == PAUSE
    assert cri["restrict_oom_score_adj"] is True
    assert cri["disable_hugetlb_controller"] is False
    assert cri["disable_apparmor"] is True
    assert (cri["stream_server_address"], cri["stream_server_port"]) == ("127.0.0.1", "0")
    assert list(cri["containerd"]["runtimes"]) == ["runc", "crun"]
    assert cri["containerd"]["runtimes"]["crun"]["options"]["BinaryName"] == "/usr/bin/crun"
    assert cri["registry"]["config_path"] == str(footprint.state / "certs.d")
    assert data["plugins"]["io.containerd.nri.v1.nri"]["disable"] is True


def test_containerd_2_has_version_3_of_the_configuration(footprint: Footprint) -> None:
    data = tomllib.loads(
        containerd_configuration.configuration(footprint, replace(SETTINGS, version=(2, 1, 9)))
    )
    plugins = data["plugins"]
    assert data["version"] == 3
    assert plugins["io.containerd.cri.v1.images"]["pinned_images"]["sandbox"] == PAUSE
    assert plugins["io.containerd.cri.v1.runtime"]["cni"]["bin_dirs"] == ["/usr/lib/cni"]
    assert list(plugins["io.containerd.cri.v1.runtime"]["containerd"]["runtimes"]) == ["runc", "crun"]
    assert plugins["io.containerd.grpc.v1.cri"]["stream_server_port"] == "0"


def test_transfer_service_unpacks_for_the_native_snapshotter_too(footprint: Footprint) -> None:
    settings = replace(SETTINGS, version=(2, 1, 9), overlays=False)

    data = tomllib.loads(containerd_configuration.configuration(footprint, settings))

    unpacking = data["plugins"]["io.containerd.transfer.v1.local"]["unpack_config"]
    assert unpacking == [{"platform": "linux", "snapshotter": "native"}]
    assert data["plugins"]["io.containerd.cri.v1.images"]["snapshotter"] == "native"


@pytest.mark.parametrize("version", [(1, 6, 20), (1, 7, 24), (2, 0, 0), (2, 1, 9)])
def test_containerd_configuration_has_only_paths_of_its_own(
    footprint: Footprint, version: tuple[int, int, int]
) -> None:
    allowed = ("/usr/", str(footprint.state), str(footprint.root))
    text = containerd_configuration.configuration(footprint, replace(SETTINGS, version=version))
    assert [
        path for path in strings(tomllib.loads(text)) if path.startswith("/") and not path.startswith(allowed)
    ] == []


@pytest.mark.parametrize("selinux", [True, False])
def test_selinux_is_enabled_if_the_kernel_has_it(footprint: Footprint, selinux: bool) -> None:
    plugins, older = (
        tomllib.loads(
            containerd_configuration.configuration(
                footprint, replace(SETTINGS, version=version, selinux=selinux)
            )
        )["plugins"]
        for version in ((2, 1, 9), (1, 7, 24))
    )
    of_crio = tomllib.loads(crio_configuration.configuration(footprint, replace(SETTINGS, selinux=selinux)))[
        "crio"
    ]

    assert plugins["io.containerd.cri.v1.runtime"]["enable_selinux"] is selinux
    assert older["io.containerd.grpc.v1.cri"]["enable_selinux"] is selinux
    assert of_crio["runtime"]["selinux"] is selinux


@pytest.mark.parametrize("version", [(1, 7, 24), (2, 1, 9)])
def test_nri_of_containerd_has_its_own_socket(footprint: Footprint, version: tuple[int, int, int]) -> None:
    nri, off = (
        tomllib.loads(
            containerd_configuration.configuration(
                footprint, replace(SETTINGS, version=version, extra_settings=extra)
            )
        )["plugins"]["io.containerd.nri.v1.nri"]
        for extra in ((NriPlugins(),), ())
    )
    assert (nri["disable"], off["disable"]) == (False, True)
    paths = [path for path in strings(nri) if path.startswith("/")]
    assert len(paths) == 3
    assert all(path.startswith(str(footprint.nri)) for path in paths)


def test_nri_of_crio_has_its_own_socket(footprint: Footprint) -> None:
    nri = tomllib.loads(
        crio_configuration.configuration(
            footprint, replace(SETTINGS, version=(1, 36, 3), extra_settings=(NriPlugins(),))
        )
    )["crio"]["nri"]
    off = tomllib.loads(crio_configuration.configuration(footprint, SETTINGS))["crio"]["nri"]
    assert (nri["enable_nri"], off["enable_nri"]) == (True, False)
    assert nri["nri_listen"] == str(footprint.nri / "nri.sock")
    assert all(path.startswith(str(footprint.nri)) for path in strings(nri) if path.startswith("/"))


@pytest.mark.parametrize(
    ("version", "plugin"),
    [((1, 7, 24), "io.containerd.grpc.v1.cri"), ((2, 1, 9), "io.containerd.cri.v1.runtime")],
)
def test_containerd_has_its_own_directory_of_cdi_specifications(
    footprint: Footprint, version: tuple[int, int, int], plugin: str
) -> None:
    text = containerd_configuration.configuration(footprint, replace(SETTINGS, version=version))
    runtime = tomllib.loads(text)["plugins"][plugin]
    assert runtime["enable_cdi"] is True
    assert runtime["cdi_spec_dirs"] == [str(footprint.cdi)]


def test_registry_on_loopback_is_used_without_tls(footprint: Footprint) -> None:
    arguments = containerd_configuration.write_configuration(footprint, SETTINGS)
    hosts = tomllib.loads((footprint.state / "certs.d/127.0.0.1:5010/hosts.toml").read_text())
    assert hosts["server"] == "http://127.0.0.1:5010"
    assert arguments == ["--config", str(footprint.state / "containerd.toml")]


def test_crio_configuration_has_only_paths_of_its_own(footprint: Footprint) -> None:
    arguments = crio_configuration.write_configuration(footprint, SETTINGS)
    data = tomllib.loads((footprint.state / "crio.conf").read_text())
    allowed = ("/usr/", str(footprint.state), str(footprint.root), str(footprint.sockets))
    assert [path for path in strings(data) if path.startswith("/") and not path.startswith(allowed)] == []
    # without these, CRI-O creates and changes files below /etc at its start
    assert data["crio"]["image"].keys() >= {"signature_policy_dir", "namespaced_auth_dir"}
    assert data["crio"]["runtime"]["irqbalance_config_restore_file"] == "disable"
    assert data["crio"]["image"]["pause_command"] == ""
    assert data["crio"]["runtime"]["cgroup_manager"] == "cgroupfs"
    assert data["crio"]["runtime"]["conmon_cgroup"] == "pod"
    assert data["crio"]["runtime"]["cdi_spec_dirs"] == [str(footprint.cdi)]
    assert list(data["crio"]["runtime"]["runtimes"]) == ["runc", "crun"]
    assert all(Path(path).exists() for path in arguments[1::2])
    registries = tomllib.loads((footprint.state / "registries.conf").read_text())
    assert registries["registry"] == [{"location": "127.0.0.1:5010", "insecure": True}]
    assert set(crio_configuration.environment(footprint)) == {
        "CONTAINER_REGISTRIES_CONF",
        "CONTAINER_REGISTRIES_CONF_DIR",
        "CONTAINERS_STORAGE_CONF",
        "HOME",
    }


@pytest.mark.parametrize(
    ("overlays", "drivers"), [(True, ("overlayfs", "overlay")), (False, ("native", "vfs"))]
)
def test_storage_driver_is_overlay_only_if_overlays_work(
    footprint: Footprint, overlays: bool, drivers: tuple[str, str]
) -> None:
    settings = replace(SETTINGS, overlays=overlays)
    cri = tomllib.loads(containerd_configuration.configuration(footprint, settings))["plugins"][
        "io.containerd.grpc.v1.cri"
    ]
    crio_configuration.write_configuration(footprint, settings)
    files = [tomllib.loads((footprint.state / name).read_text()) for name in ("crio.conf", "storage.conf")]
    assert cri["containerd"]["snapshotter"] == drivers[0]
    assert [files[0]["crio"]["storage_driver"], files[1]["storage"]["driver"]] == [drivers[1]] * 2


@pytest.mark.parametrize(
    ("version", "has_setting"), [((1, 34, 11), False), ((1, 36, 2), False), ((1, 36, 3), True)]
)
def test_crio_has_a_cni_grace_period_if_the_version_supports_it(
    footprint: Footprint, version: tuple[int, int, int], has_setting: bool
) -> None:
    data = tomllib.loads(crio_configuration.configuration(footprint, replace(SETTINGS, version=version)))
    assert ("cni_status_grace_period" in data["crio"]["network"]) is has_setting


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 3", "ended with code 3: no output"),
        ("echo containerd x 1.5.18", "CRI v1 begins with containerd 1.6"),
        ("echo podman version 4.3.1", "is not containerd"),
        ("echo containerd unknown", "names no version"),
    ],
)
def test_unsuitable_containerd_binary_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, message: str
) -> None:
    for helper in ("runc", "containerd-shim-runc-v2"):
        program(tmp_path / helper, "exit 0")
    monkeypatch.setenv("PATH", os.defpath)
    with pytest.raises(MissingProgram, match=message):
        find_daemon(
            KINDS["containerd"],
            program(tmp_path / "containerd", script),
            extra_handlers={},
            cni_plugins=tmp_path,
        )


def test_shim_next_to_the_binary_is_preferred(tmp_path: Path) -> None:
    for helper in ("runc", "containerd-shim-runc-v2"):
        program(tmp_path / helper, "exit 0")
    extra = {"wrapped": tmp_path / "wrapper"}
    binary = program(tmp_path / "containerd", "echo containerd x 1.7.2")
    daemon = find_daemon(KINDS["containerd"], binary, extra_handlers=extra, cni_plugins=tmp_path)
    assert daemon.helpers["containerd-shim-runc-v2"] == tmp_path / "containerd-shim-runc-v2"
    assert daemon.handlers["runc"] == tmp_path / "runc"
    assert daemon.handlers["wrapped"] == tmp_path / "wrapper"


def test_program_named_by_the_user_replaces_the_installed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Limits of the installed crun do not apply to another one, which is probed itself."""
    for installed in ("runc", "crun", "containerd-shim-runc-v2"):
        program(tmp_path / installed, "exit 0")
    monkeypatch.setattr(daemon_choice, "unified_controllers_with_version_1", lambda: ("hugetlb",))
    binary = program(tmp_path / "containerd", "echo containerd x 1.7.2")
    newer = tmp_path / "newer/crun"

    daemon = find_daemon(KINDS["containerd"], binary, extra_handlers={"crun": newer}, cni_plugins=tmp_path)

    assert daemon.handlers["crun"] == newer
    assert daemon.further_programs == {"crun": newer}
    assert daemon.left_out == {}


SHIM = Path("/opt/gvisor/containerd-shim-runsc-v1")
WITH_SHIM = replace(SETTINGS, handlers={"runc": Path("/usr/sbin/runc"), "gvisor": SHIM})


@pytest.mark.parametrize(
    ("version", "plugin"),
    [((1, 7, 24), "io.containerd.grpc.v1.cri"), ((2, 1, 9), "io.containerd.cri.v1.runtime")],
)
def test_containerd_is_configured_with_the_shim_of_a_handler(
    footprint: Footprint, version: tuple[int, int, int], plugin: str
) -> None:
    containerd_configuration.write_configuration(footprint, replace(WITH_SHIM, version=version))

    data = tomllib.loads((footprint.state / "containerd.toml").read_text(encoding="utf-8"))
    handlers = data["plugins"][plugin]["containerd"]["runtimes"]
    config_file = footprint.state / "shims/gvisor.toml"
    assert handlers["gvisor"] == {
        "runtime_type": "io.containerd.runsc.v1",
        "runtime_path": str(SHIM),
        "options": {"TypeUrl": "io.containerd.runsc.v1.options", "ConfigPath": str(config_file)},
    }
    assert tomllib.loads(config_file.read_text(encoding="utf-8")) == {
        "root": str(footprint.state / "oci/gvisor")
    }
    assert handlers["runc"]["runtime_type"] == "io.containerd.runc.v2"


def test_crio_is_configured_with_the_shim_of_a_handler(footprint: Footprint) -> None:
    data = tomllib.loads(crio_configuration.configuration(footprint, replace(WITH_SHIM, version=(1, 36, 3))))

    handlers = data["crio"]["runtime"]["runtimes"]
    assert (handlers["gvisor"]["runtime_type"], handlers["gvisor"]["runtime_path"]) == ("vm", str(SHIM))
    assert "monitor_path" not in handlers["gvisor"]
    assert handlers["runc"]["runtime_type"] == "oci"


def test_shim_is_no_oci_runtime_and_its_directory_is_in_path(tmp_path: Path, footprint: Footprint) -> None:
    for helper in ("runc", "containerd-shim-runc-v2"):
        program(tmp_path / helper, "exit 0")
    binary = program(tmp_path / "containerd", "echo containerd x 1.7.2")
    extra = {"gvisor": SHIM, "plain": tmp_path / "plain-runc"}

    daemon = find_daemon(KINDS["containerd"], binary, extra_handlers=extra, cni_plugins=tmp_path)

    assert daemon.shims == {"gvisor": SHIM}
    assert "gvisor" not in daemon.further_programs
    assert daemon.further_programs["plain"] == tmp_path / "plain-runc"
    assert daemon.environment(footprint)["PATH"].endswith(f":{SHIM.parent}")


def test_the_daemon_gets_no_variable_that_could_change_its_behaviour(
    tmp_path: Path, footprint: Footprint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for helper in ("runc", "containerd-shim-runc-v2"):
        program(tmp_path / helper, "exit 0")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy")
    monkeypatch.setenv("NOTIFY_SOCKET", "/run/x")
    binary = program(tmp_path / "containerd", "echo containerd x 1.7.2")
    environment = find_daemon(
        KINDS["containerd"], binary, extra_handlers={}, cni_plugins=tmp_path
    ).environment(footprint)
    assert not {"HTTP_PROXY", "NOTIFY_SOCKET"} & environment.keys()
    assert environment["PATH"].startswith(f"{tmp_path}:")
    assert environment["CRITESTS_THROWAWAY"] == str(footprint.state)


def test_version_of_a_hanging_program_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "_ANSWER_SECONDS", 0.1)
    with pytest.raises(MissingProgram, match="did not answer within"):
        version_text(program(tmp_path / "slow", "exec sleep 60"))


def strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


def test_cni_template_has_placeholders_for_containerd(footprint: Footprint) -> None:
    containerd_configuration.write_configuration(
        footprint, replace(SETTINGS, extra_settings=(CniTemplate(),))
    )
    ipam = json.loads(
        (footprint.state / "cni-template")
        .read_text()
        .replace("{{range $number, $one := .PodCIDRRanges}}{{if $number}},{{end}}", "")
        .replace("{{range $number, $one := .Routes}}{{if $number}},{{end}}", "")
        .replace("{{end}}", "")
    )["plugins"][0]["ipam"]
    assert ipam["ranges"] == [[{"subnet": "{{$one}}"}]]
    assert ipam["routes"] == [{"dst": "{{$one}}"}]


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        (containerd_configuration, LogCap(1)),
        (containerd_configuration, NoEvents()),
        (containerd_configuration, Credentials(Path("/usr/auth.json"))),
        (containerd_configuration, SplitStorage()),
        (crio_configuration, CniTemplate()),
    ],
)
def test_error_names_the_unsupported_setting(
    footprint: Footprint, kind: ModuleType, setting: RuntimeSetting
) -> None:
    with pytest.raises(SettingNotSupported, match=setting.meaning):
        kind.configuration(footprint, replace(SETTINGS, extra_settings=(setting,)))
