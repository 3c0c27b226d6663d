"""What SELinux has denied."""

from pathlib import Path

from critests.node.host.selinux_denials import denied_since

AVC = (
    'audit: type=1400 audit(1795932128.053:25): avc:  denied  {{ {what} }} for  pid=313 comm="{program}"'
    ' name="bridge" dev="ubda" ino=1336 scontext=system_u:system_r:dockerd_t:s0'
    " tcontext=system_u:object_r:lib_t:s0 tclass=file permissive={permissive}"
)


def avc(what: str, program: str = "containerd", permissive: int = 0) -> str:
    return AVC.format(what=what, program=program, permissive=permissive)


def test_denials_since_a_time_are_named_once(tmp_path: Path) -> None:
    log = tmp_path / "kmsg"
    log.write_text(
        f"5,100,9000000,-;{avc('read')}\n"
        f"5,101,39000000,-;{avc('execute_no_trans')}\n"
        f"5,102,39100000,-;{avc('execute_no_trans')}\n"
        f"5,103,39200000,-;{avc('write', 'iptables', permissive=1)}\n"
        "6,104,39300000,-;cni0: port 1(veth0) entered disabled state\n"
    )

    assert denied_since(10.0, log) == ["containerd (dockerd_t): execute_no_trans file of lib_t"]


def test_no_denials_without_a_log(tmp_path: Path) -> None:
    assert denied_since(0.0, tmp_path / "none") == []
