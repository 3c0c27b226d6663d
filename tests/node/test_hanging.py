"""Steps that hang in a wrapper."""

import shutil
import subprocess
from pathlib import Path

from critests.lifecycle.waiting import eventually
from critests.node.wrappers.hanging import FOR_EVER, cut_off, held
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
