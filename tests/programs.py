"""Small programs for tests."""

from pathlib import Path


def program(path: Path, script: str) -> Path:
    """Write a shell script that can be run, and the directories above it; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script if script.startswith("#!") else f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path
