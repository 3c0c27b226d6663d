"""Profiles of AppArmor of our own, loaded into the kernel for as long as tests need them."""

import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from critests.api import api_pb2 as cri
from critests.run.outcomes import blocked
from critests.validation.security.contexts import context

FORBIDDEN = "/forbidden"
"""What our profiles do not let anybody write."""
_PARSER_SECONDS = 30
_REST = "network, capability, signal, ptrace, unix, mount, umount, pivot_root,"
_RULES = """
profile {names.enforcing} flags=(attach_disconnected,mediate_deleted) {{
  file, {rest}
  deny {forbidden} wl,
}}
profile {names.complaining} flags=(attach_disconnected,mediate_deleted,complain) {{
  /** rmixk, {rest}
}}
"""
"""The second one lacks the right to write; a `deny` would hold even where others are only logged."""


@dataclass(frozen=True)
class LoadedProfiles:
    """Names of profiles that are loaded.

    Attributes:
        enforcing: refuses to write `FORBIDDEN`.
        complaining: only logs that.
    """

    enforcing: str
    complaining: str

    @property
    def enforced(self) -> cri.LinuxContainerSecurityContext:
        """The security context that asks for the first one."""
        return context(apparmor=self.asked_for(self.enforcing))

    @property
    def complained(self) -> cri.LinuxContainerSecurityContext:
        """The security context that asks for the second one."""
        return context(apparmor=self.asked_for(self.complaining))

    def asked_for(self, name: str) -> cri.SecurityProfile:
        """Return the request for one of them."""
        return cri.SecurityProfile(profile_type=cri.SecurityProfile.Localhost, localhost_ref=name)


@contextmanager
def loaded() -> Iterator[LoadedProfiles]:
    """Load the profiles, and unload them in the end; blocked where that is not possible."""
    parser = shutil.which("apparmor_parser", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if parser is None:
        blocked("apparmor_parser, which loads profiles, is not on this machine")
    stem = f"critests-{secrets.token_hex(4)}"
    names = LoadedProfiles(f"{stem}-enforce", f"{stem}-complain")
    rules = _RULES.format(names=names, rest=_REST, forbidden=FORBIDDEN)

    def parse(option: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [parser, option, "--skip-cache"],
            input=rules,
            capture_output=True,
            text=True,
            timeout=_PARSER_SECONDS,
            check=False,
        )

    done = parse("--replace")
    if done.returncode != 0:
        blocked(f"apparmor_parser does not load a profile: {done.stderr.strip()[:300]}")
    try:
        yield names
    finally:
        parse("--remove")
