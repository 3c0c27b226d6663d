#!/usr/bin/env python3
"""Compile the programs of the test images, `critests/images/programs/*.c`, for each architecture.

    python tools/build_programs.py            write the programs
    python tools/build_programs.py --check    write nothing; exit 1 and name the programs that differ

Needs the version of ziglang, a C compiler for every architecture, that the dependency group `gen` of
pyproject.toml pins, because another version produces other files; exits 2 without this version.
"""

import argparse
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path("critests") / "images" / "programs"
ARCHITECTURES = {
    "amd64": ("x86_64", "x86"),
    "arm64": ("aarch64", "aarch64"),
    "ppc64le": ("powerpc64le", "powerpc"),
    "riscv64": ("riscv64", "riscv"),
    "s390x": ("s390x", "s390x"),
}
"""Architecture name of images to the names in the compiler's target and in the kernel headers."""
FLAGS = (
    *("-Os", "-ffreestanding", "-nostdlib", "-static", "-fno-pie", "-Wall", "-Wextra", "-Werror"),
    *("-fno-stack-protector", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables"),
    *("-s", "-Wl,--build-id=none", "-Wl,-z,norelro"),
)


class BuildError(Exception):
    """The programs cannot be built here; the message says what is missing."""


def compiler_folder() -> Path:
    """Return the folder of the pinned compiler; raise BuildError unless it is installed."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    wanted = next(pin for pin in groups["gen"] if pin.startswith("ziglang=="))
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        raise BuildError(f"ziglang is not installed; the programs are built with {wanted}")
    found = f"ziglang=={importlib.metadata.version('ziglang')}"
    if found != wanted:
        raise BuildError(f"{found} is installed; the programs are built with {wanted}")
    return Path(spec.origin).parent


def build() -> dict[Path, bytes]:
    """Return the programs by their path in the checkout, without touching it.

    Raises:
        BuildError: The pinned compiler is not installed, or does not compile a source.
    """
    headers = compiler_folder() / "lib" / "libc" / "include"
    built: dict[Path, bytes] = {}
    with tempfile.TemporaryDirectory(prefix="critests-programs-") as folder:
        made = Path(folder) / "program"
        environment = os.environ | {f"ZIG_{which}_CACHE_DIR": folder for which in ("GLOBAL", "LOCAL")}
        for source in sorted((ROOT / PROGRAMS).glob("*.c")):
            for architecture, (target, kernel) in ARCHITECTURES.items():
                includes = [f"-isystem{headers / name}" for name in (f"{kernel}-linux-any", "any-linux-any")]
                compiler = (sys.executable, "-m", "ziglang", "cc", f"--target={target}-linux-none")
                done = subprocess.run(
                    [*compiler, *FLAGS, *includes, "-o", str(made), source.name],
                    cwd=source.parent,
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                if done.returncode:
                    raise BuildError(f"{source.name} for {architecture}:\n{done.stderr.strip()}")
                built[PROGRAMS / architecture / source.stem] = made.read_bytes()
    return built


def main() -> int:
    """Write the programs, or compare them with `--check`; return the exit code."""
    parser = argparse.ArgumentParser(description="Compile the programs of the test images.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a program differs")
    arguments = parser.parse_args()
    try:
        built = build()
    except BuildError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    changed = [
        path
        for path, content in built.items()
        if not (ROOT / path).is_file() or (ROOT / path).read_bytes() != content
    ]
    for path in changed:
        if not arguments.check:
            (ROOT / path).parent.mkdir(exist_ok=True)
            (ROOT / path).write_bytes(built[path])
        print(f"{path} {'differs from its source' if arguments.check else 'written'}")
    return 1 if arguments.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
