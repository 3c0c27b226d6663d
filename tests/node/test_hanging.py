"""Invocations that hang in a wrapper."""

import shutil
import subprocess
from pathlib import Path

from critests.lifecycle.waiting import eventually
from critests.node.wrappers.hanging import FOR_EVER, cut_off, held, let_go
from critests.node.wrappers.stand_in import OciWrapper


def test_hanging_invocation_is_killed_with_its_children(tmp_path: Path) -> None:
    """A remaining `sleep` would keep the output open for its whole duration."""
    wrapper = OciWrapper(tmp_path / "wrapper", Path(shutil.which("true") or "/bin/true"))
    assert held(wrapper) == []
    wrapper.plan({"create": [FOR_EVER]})

    with subprocess.Popen([wrapper.path, "create", "id"], stdout=subprocess.PIPE) as hanging:
        found = eventually("the step to hang", lambda: held(wrapper), 10)
        cut_off([*found, *found])
        output, _ = hanging.communicate(timeout=10)

    assert len(found) == 2
    assert output == b""
    assert held(wrapper) == []


def test_released_invocation_completes(tmp_path: Path) -> None:
    """The delayed program runs, as if it had only been slow."""
    wrapper = OciWrapper(tmp_path / "wrapper", Path(shutil.which("echo") or "/bin/echo"))
    wrapper.plan({"create": [FOR_EVER]})

    with subprocess.Popen([wrapper.path, "create", "id"], stdout=subprocess.PIPE) as hanging:
        let_go(eventually("the step to hang", lambda: held(wrapper), 10))
        output, _ = hanging.communicate(timeout=10)

    assert output == b"create id\n"
    assert hanging.returncode == 0
    assert held(wrapper) == []
