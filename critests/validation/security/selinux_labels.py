"""SELinux labels, `user:role:type:level`: their parts, and those that the policy of the node has for
containers.
"""

import re
from pathlib import Path

from critests.testing import blocked

POLICIES = Path("/etc/selinux")
WITHOUT_CATEGORIES = "s0"
"""The level without categories, which every container may read."""


def role_and_type_of(label: str) -> str:
    """Return `role:type` of a label."""
    return ":".join(label.split(":")[1:3])


def type_of(label: str) -> str:
    """Return the type of a label."""
    return label.split(":")[2]


def level_of(label: str) -> str:
    """Return the level of a label, which may contain colons."""
    return label.split(":", 3)[-1]


def label_of(path: str) -> str:
    """Return a shell command that prints the label of a file, as busybox has no such program."""
    read = f"/bin/sys getxattr ={path} =security.selinux % 255 , write 1 % '$'"
    # getxattr(2) returns the label with a zero byte at its end; grep selects its line
    return rf"{read} | tr '\000' '\n' | grep :"


def labels_of_policy() -> dict[str, str]:
    """Return the labels that the policy of this node has for containers, for a `process` and a `file` among
    others; ends the test as blocked if it has none.

    Source: lxc_contexts(5).
    """
    try:
        config = (POLICIES / "config").read_text(encoding="utf-8")
        name = dict(re.findall(r"^(\w+)=(\S+)", config, re.MULTILINE))["SELINUXTYPE"]
        contexts = (POLICIES / name / "contexts" / "lxc_contexts").read_text(encoding="utf-8")
    except (OSError, KeyError):
        contexts = ""
    labels = dict(re.findall(r'^(\w+) *= *"(.+)"', contexts, re.MULTILINE))
    if not {"process", "file"} <= labels.keys():
        blocked("the policy of this node has no labels of containers (lxc_contexts)")
    return labels
