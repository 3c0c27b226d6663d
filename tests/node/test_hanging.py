"""Steps that hang in a wrapper."""

import shutil
import subprocess
from pathlib import Path

from critests.lifecycle.waiting import eventually
from critests.node.wrappers.hanging import FOR_EVER, cut_off, held, let_go
from critests.node.wrappers.stand_in import OciWrapper


def test_what_hangs_is_found_and_cut_off_with_what_it_started(tmp_path: Path) -> None:
    """A `sleep` that is left would hold the output open for as long as it was to wait."""
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


def test_what_is_let_go_comes_to_its_end(tmp_path: Path) -> None:
    """The program that was held up runs, as if it had only been slow."""
    wrapper = OciWrapper(tmp_path / "wrapper", Path(shutil.which("echo") or "/bin/echo"))
    wrapper.plan({"create": [FOR_EVER]})

    with subprocess.Popen([wrapper.path, "create", "id"], stdout=subprocess.PIPE) as hanging:
        let_go(eventually("the step to hang", lambda: held(wrapper), 10))
        output, _ = hanging.communicate(timeout=10)

    assert output == b"create id\n"
    assert hanging.returncode == 0
    assert held(wrapper) == []
