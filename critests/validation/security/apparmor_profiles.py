"""AppArmor profiles of the suite, loaded into the kernel while tests need them."""

import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from critests.api import api_pb2 as cri
from critests.testing import blocked
from critests.validation.security.contexts import context

FORBIDDEN = "/forbidden"
"""The path that the profiles deny to write."""
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
"""The flags are those of the runtimes' default profiles. The second profile lacks the permission `w` and
has no `deny` rule, which complain mode would enforce.
"""


@dataclass(frozen=True)
class LoadedProfiles:
    """Names of loaded profiles.

    Attributes:
        enforcing: denies to write `FORBIDDEN`.
        complaining: only logs it.
    """

    enforcing: str
    complaining: str

    @property
    def enforced(self) -> cri.LinuxContainerSecurityContext:
        """The security context that requests the enforcing profile."""
        return context(apparmor=self.request(self.enforcing))

    @property
    def complained(self) -> cri.LinuxContainerSecurityContext:
        """The security context that requests the complaining profile."""
        return context(apparmor=self.request(self.complaining))

    def request(self, name: str) -> cri.SecurityProfile:
        """Return the request for a loaded profile by its name."""
        return cri.SecurityProfile(profile_type=cri.SecurityProfile.Localhost, localhost_ref=name)


@contextmanager
def loaded() -> Iterator[LoadedProfiles]:
    """Load the profiles, and unload them at the end; blocked if that is not possible."""
    # the PATH of many users lacks /sbin
    parser = shutil.which("apparmor_parser", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if parser is None:
        blocked("this machine has no apparmor_parser, which loads profiles")
    stem = f"critests-{secrets.token_hex(4)}"
    names = LoadedProfiles(f"{stem}-enforce", f"{stem}-complain")
    rules = _RULES.format(names=names, rest=_REST, forbidden=FORBIDDEN)

    def parse(option: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            # the names are new in each run: a cached profile would never be used again
            [parser, option, "--skip-cache"],
            input=rules,
            capture_output=True,
            text=True,
            timeout=_PARSER_SECONDS,
            check=False,
        )

    result = parse("--replace")
    if result.returncode != 0:
        blocked(f"apparmor_parser does not load a profile: {result.stderr.strip()[:300]}")
    try:
        yield names
    finally:
        parse("--remove")
