"""The named configurations of private runtimes, for `--node-setting`."""

import os
import ssl
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from critests.exit_codes import UsageError
from critests.lifecycle.run_label import RunIdentity
from critests.node.run_state.footprint import Footprint
from critests.node.starting import start_runtime
from critests.node.starting.certificates import with_certificates
from critests.node.starting.targets import parse_node_settings
from critests.run.context import RuntimeSetup, start_private
from critests.run.run_settings import Settings
from critests.runtimes.daemon_settings import DaemonSettings
from critests.runtimes.node_setting import NodeSetting
from critests.runtimes.private_kind import ThrowawayKind
from critests.runtimes.private_kinds import KINDS
from critests.runtimes.runtime_settings import (
    CopiedLayers,
    DualStack,
    Ipv6First,
    Ipv6Only,
    NoEvents,
    RuntimeSetting,
    SettingNotSupported,
    ShortNames,
    StreamingTls,
)
from tests.node.footprints import footprint_in

SETTINGS = DaemonSettings(
    version=(2, 3, 4),
    handlers={"runc": Path("/usr/sbin/runc")},
    cni_plugins=Path("/usr/lib/cni"),
    pause_image="127.0.0.1:5010/critests/pause:1",
    registry_addresses=["127.0.0.1:5010"],
    helpers={"conmon": Path("/usr/bin/conmon"), "pinns": Path("/usr/libexec/crio/pinns")},
)
NOT_IN_THE_CONFIGURATION = {DualStack(), Ipv6Only(), CopiedLayers(), ShortNames()}
"""Settings of the CNI configuration, of `DaemonSettings.overlays`, and of files of registries."""
EVERY = [
    pytest.param(kind, setting, id=f"{kind.facts.name}-{name}")
    for kind in KINDS.values()
    for name, setting in kind.node_settings.items()
]


def written(kind: ThrowawayKind, folder: Path, settings: DaemonSettings) -> tuple[Footprint, str]:
    """Return where a configuration was written, and its main file."""
    footprint = footprint_in(folder, kind.facts.name, subnets=())
    for directory in footprint.directories:
        directory.mkdir(parents=True, exist_ok=True)
    arguments = kind.write_configuration(footprint, settings)
    return footprint, Path(arguments[1]).read_text(encoding="utf-8")


@pytest.mark.parametrize(("kind", "setting"), EVERY)
def test_every_setting_changes_the_configuration(
    kind: ThrowawayKind, setting: NodeSetting, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, version=(1, 36, 3)) if kind.facts.name == "crio" else SETTINGS
    _, plain = written(kind, tmp_path, settings)

    _, changed = written(kind, tmp_path, replace(settings, extra_settings=setting.settings))

    tomllib.loads(changed)
    assert (changed != plain) is not NOT_IN_THE_CONFIGURATION.issuperset(setting.settings)


def test_a_version_may_lack_a_setting(tmp_path: Path) -> None:
    settings = parse_node_settings(["local-pull"], "containerd")

    with pytest.raises(SettingNotSupported):
        written(KINDS["containerd"], tmp_path, replace(SETTINGS, version=(2, 0, 5), extra_settings=settings))


def test_a_machine_may_lack_what_a_setting_needs(tmp_path: Path) -> None:
    settings = parse_node_settings(["infra-containers"], "crio")

    with pytest.raises(SettingNotSupported, match="CAP_SYS_RESOURCE"):
        written(
            KINDS["crio"], tmp_path, replace(SETTINGS, may_lower_oom_score=False, extra_settings=settings)
        )


def test_registries_of_the_earlier_format_are_mirrors(tmp_path: Path) -> None:
    settings = parse_node_settings(["earlier-format"], "containerd")

    _, text = written(KINDS["containerd"], tmp_path, replace(SETTINGS, extra_settings=settings))

    read = tomllib.loads(text)
    assert read["version"] == 2
    assert read["plugins"]["io.containerd.grpc.v1.cri"]["registry"] == {
        "mirrors": {"127.0.0.1:5010": {"endpoint": ["http://127.0.0.1:5010"]}}
    }


def test_names_without_a_registry_lead_to_that_of_the_suite(tmp_path: Path) -> None:
    of_containerd, _ = written(
        KINDS["containerd"], tmp_path / "1", replace(SETTINGS, extra_settings=[ShortNames()])
    )
    of_crio, _ = written(
        KINDS["crio"], tmp_path / "2", replace(SETTINGS, version=(1, 36, 3), extra_settings=[ShortNames()])
    )

    hosts = tomllib.loads((of_containerd.state / "certs.d/docker.io/hosts.toml").read_text(encoding="utf-8"))
    registries = tomllib.loads((of_crio.state / "registries.conf").read_text(encoding="utf-8"))
    assert hosts["server"] == "http://127.0.0.1:5010"
    assert registries["unqualified-search-registries"] == ["127.0.0.1:5010"]


def test_a_certificate_is_made_once(tmp_path: Path) -> None:
    first = with_certificates([DualStack(), StreamingTls()], tmp_path)
    certificate = (tmp_path / "streaming.pem").read_text(encoding="ascii")

    again = with_certificates(first, tmp_path / "elsewhere")

    assert (
        first
        == again
        == [DualStack(), StreamingTls(tmp_path / "streaming.pem", tmp_path / "streaming-key.pem")]
    )
    assert (tmp_path / "streaming.pem").read_text(encoding="ascii") == certificate
    assert ssl.PEM_cert_to_DER_cert(certificate)


def test_settings_may_be_combined() -> None:
    found = parse_node_settings(["ipv6-only", "no-overlay"], "crio")

    assert found == (Ipv6Only(), CopiedLayers())


@pytest.mark.parametrize(("node", "name"), [("containerd", "ipv7"), ("crio", "ipv6-first")])
def test_an_unknown_setting_is_an_error_that_lists_those_of_the_kind(node: str, name: str) -> None:
    given = {"cri_node": node, "cri_node_setting": ["nri", name]}

    with pytest.raises(UsageError, match=f"--node-setting {name}: {node} has no .* dual-stack, ipv6-"):
        Settings.read(given.get)


def test_settings_are_for_private_runtimes_only() -> None:
    given = {"cri_node_setting": ["nri"]}

    with pytest.raises(UsageError, match="--node-setting is for a runtime that --node starts"):
        Settings.read(given.get)


def test_the_listening_plugin_starts_and_needs_a_socket_of_the_daemon(tmp_path: Path) -> None:
    settings = parse_node_settings(["nri"], "containerd")
    footprint, _ = written(KINDS["containerd"], tmp_path, replace(SETTINGS, extra_settings=settings))

    program = footprint.nri / "plugins" / "10-listener"
    ended = subprocess.run([program], env={}, capture_output=True, text=True, timeout=60, check=False)

    assert os.access(program, os.X_OK)
    assert "NRI_PLUGIN_SOCKET" in ended.stderr


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ((), (DualStack(), Ipv6First())),
        ((NoEvents(),), (DualStack(), Ipv6First(), NoEvents())),
        ((DualStack(),), (DualStack(), DualStack())),
    ],
    ids=["none", "another", "both families, in the default order"],
)
def test_runtime_of_a_test_has_the_node_settings_and_its_own(
    own: tuple[RuntimeSetting, ...], expected: tuple[RuntimeSetting, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[dict[str, object]] = []
    monkeypatch.setattr(start_runtime, "start_throwaway", lambda _, **options: started.append(options))
    settings = Settings(node="containerd", node_setting=("ipv6-first",), image_prefix="example")

    start_private(settings, RunIdentity("1-abc"), None, setup=RuntimeSetup(settings=own))

    assert [options["extra_settings"] for options in started] == [expected]
