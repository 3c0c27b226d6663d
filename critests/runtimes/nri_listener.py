"""An NRI plugin among the pre-installed ones of a private runtime, which its daemon starts."""

import sys
from pathlib import Path
from typing import Final

import critests
from critests.runtimes.runtime_paths import RuntimePaths

PLUGINS: Final = "plugins"
"""Name of the directory of pre-installed plugins, in `RuntimePaths.nri`."""
_NAME: Final = "10-listener"
"""Index and name of the plugin, as the NRI requires."""
_STARTED: Final = "critests.node.nri.listener"


def install(paths: RuntimePaths) -> None:
    """Write the plugin's program. Its environment has nothing but the variables of the NRI."""
    program = paths.nri / PLUGINS / _NAME
    program.parent.mkdir(exist_ok=True)
    where = str(Path(critests.__file__).parents[1])
    lines = (
        f"#!{sys.executable}",
        "import sys",
        f"sys.path.insert(0, {where!r})",
        f"from {_STARTED} import main",
        "main()",
    )
    program.write_text("\n".join(lines) + "\n", encoding="utf-8")
    program.chmod(0o755)
