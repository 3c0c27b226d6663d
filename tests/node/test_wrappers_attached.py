import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from critests.node.run_state.footprint import Footprint
from critests.node.starting.daemon_choice import DaemonChoice
from critests.node.starting.wrapper_setup import Wrappers, WrapperUnsupported, attach
from critests.node.wrappers.wrapped_programs import NONE_WRAPPED, WrappedPrograms
from critests.runtimes.containerd import containerd_configuration
from critests.runtimes.crio import crio_configuration
from critests.runtimes.daemon_settings import DaemonSettings
from critests.runtimes.private_kinds import KINDS
from tests.node.footprints import footprint_in


@pytest.fixture
def footprint(tmp_path: Path) -> Footprint:
    for name in ("state", "root", "plugins"):
        (tmp_path / name).mkdir()
    (tmp_path / "plugins/bridge").touch()
    return footprint_in(tmp_path, "crio")


def daemon_in(directory: Path, kind: str = "crio") -> DaemonChoice:
    handlers = {"runc": Path("/usr/bin/runc"), "crun": Path("/usr/bin/crun")}
    helpers = {"conmon": Path("/usr/bin/conmon"), "pinns": Path("/usr/bin/pinns")}
    return DaemonChoice(
        KINDS[kind], Path(f"/usr/bin/{kind}"), kind, (2, 1, 0), handlers, directory / "plugins", {}, helpers
    )


def test_daemons_are_configured_with_the_wrappers(footprint: Footprint, tmp_path: Path) -> None:
    wrapped = WrappedPrograms(oci=True, cni=True, monitor=True)
    daemon, wrappers = attach(daemon_in(tmp_path), footprint, wrapped)
    oci, cni, monitor = wrappers.oci, wrappers.cni, wrappers.monitor
    assert oci is not None
    assert cni is not None
    assert monitor is not None
    assert (oci.path, cni.plugins / "bridge") == (
        footprint.state / "wrappers/oci/bin/runc",
        footprint.state / "wrappers/cni/bin/bridge",
    )
    assert daemon.binaries == daemon_in(tmp_path).binaries
    settings = DaemonSettings(
        daemon.version, daemon.handlers, daemon.cni_plugins, "pause", (), helpers=daemon.helpers
    )
    assert f'runtime_path = "{oci.path}"' in crio_configuration.configuration(footprint, settings)
    assert f'plugin_dirs = ["{cni.plugins}/"]' in crio_configuration.configuration(footprint, settings)
    assert 'runtime_path = "/usr/bin/crun"' in crio_configuration.configuration(footprint, settings)
    assert f'BinaryName = "{oci.path}"' in containerd_configuration.configuration(footprint, settings)
    assert f'monitor_path = "{monitor.path}"' in crio_configuration.configuration(footprint, settings)
    assert f'bin_dirs = ["{cni.plugins}"]' in containerd_configuration.configuration(footprint, settings)


def test_containerd_finds_the_wrapper_of_its_shim_on_its_path(footprint: Footprint, tmp_path: Path) -> None:
    shim = tmp_path / "containerd-shim-runc-v2"
    plain = replace(daemon_in(tmp_path, "containerd"), helpers={shim.name: shim})

    daemon, wrappers = attach(plain, footprint, WrappedPrograms(monitor=True))

    monitor = wrappers.monitor
    assert monitor is not None
    assert (monitor.real, monitor.path.name) == (shim, shim.name)
    assert daemon.environment(footprint)["PATH"].startswith(f"{monitor.path.parent}:")


def test_a_kind_without_monitors_has_no_wrapper_of_them(footprint: Footprint, tmp_path: Path) -> None:
    plain = replace(daemon_in(tmp_path), helpers={"pinns": Path("/usr/bin/pinns")})

    _, wrappers = attach(plain, footprint, WrappedPrograms(monitor=True))

    assert wrappers == Wrappers()


def test_oci_and_cni_wrappers_are_independent(footprint: Footprint, tmp_path: Path) -> None:
    plain = daemon_in(tmp_path)
    assert attach(plain, footprint, NONE_WRAPPED) == (plain, Wrappers())
    daemon, wrappers = attach(plain, footprint, WrappedPrograms(cni=True))
    assert (wrappers.oci, daemon.handlers) == (None, plain.handlers)
    assert wrappers.cni is not None
    assert wrappers.cni.real_plugins == plain.cni_plugins


def test_wrappers_are_written_to_a_directory_without_noexec(
    footprint: Footprint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = {footprint.state}
    monkeypatch.setattr(
        os, "statvfs", lambda path: SimpleNamespace(f_flag=os.ST_NOEXEC if path in closed else 0)
    )
    _, wrappers = attach(daemon_in(tmp_path), footprint, WrappedPrograms(oci=True))
    assert wrappers.oci is not None
    assert wrappers.oci.directory == footprint.root / "wrappers/oci"
    closed.add(footprint.root)
    with pytest.raises(PermissionError, match="mounted noexec"):
        attach(daemon_in(tmp_path), footprint, WrappedPrograms(oci=True))


def test_handler_under_test_is_wrapped(footprint: Footprint, tmp_path: Path) -> None:
    daemon, wrappers = attach(daemon_in(tmp_path), footprint, WrappedPrograms(oci=True, handler="crun"))
    assert wrappers.oci is not None
    assert daemon.handlers == {"runc": Path("/usr/bin/runc"), "crun": wrappers.oci.path}
    assert wrappers.oci.path.name == "crun"


def test_default_handler_is_wrapped_if_the_daemon_adds_the_handler_itself(
    footprint: Footprint, tmp_path: Path
) -> None:
    daemon, wrappers = attach(daemon_in(tmp_path), footprint, WrappedPrograms(oci=True, handler="kata"))
    assert wrappers.oci is not None
    assert daemon.handlers["runc"] == wrappers.oci.path


def test_handler_with_its_own_shim_cannot_be_wrapped(footprint: Footprint, tmp_path: Path) -> None:
    daemon = daemon_in(tmp_path)
    shim = Path("/opt/gvisor/containerd-shim-runsc-v1")
    with_shim = replace(daemon, handlers={**daemon.handlers, "gvisor": shim})

    with pytest.raises(WrapperUnsupported, match=f"the handler gvisor has its own shim, {shim}"):
        attach(with_shim, footprint, WrappedPrograms(oci=True, handler="gvisor"))
    wrapped, wrappers = attach(with_shim, footprint, WrappedPrograms(oci=True))

    assert wrappers.oci is not None
    assert wrapped.handlers["gvisor"] == shim
