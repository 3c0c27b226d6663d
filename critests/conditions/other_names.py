"""The condition `other-names`: pods and containers have the names, labels and annotations that Kubernetes
admits and few people use.
"""

import random
import secrets
import uuid
from dataclasses import dataclass, field
from typing import Final

from critests.lifecycle.request_names import RequestNames

LABEL_LENGTH: Final = 63
"""Longest DNS label (RFC 1123), and longest value and name part of a label."""
SUBDOMAIN_LENGTH: Final = 253
"""Longest DNS subdomain: the name of a pod, and the prefix of a key."""
ANNOTATION_LENGTH: Final = 4096
"""All annotations of an object together may have 256 KiB."""
TAG_LENGTH: Final = 128
"""Longest tag of an image, by the OCI distribution specification."""
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
TEXTS: Final = (
    "",
    " leading and trailing spaces ",
    "Grüße, 世界 🌍\u200d\u202e",
    "quotes \" ' ` and \\ backslashes \\n",
    "several\nlines\r\n\tand a tab",
    '{"json": ["in", {"an": "annotation"}]}',
    "$HOME %s {{.}} ${x} && ; | #",
    "-",
    "0",
    "null",
)


def long_label(unique: str) -> str:
    """Return a DNS label of the greatest length that ends with a text."""
    return f"{'x' * (LABEL_LENGTH - 1 - len(unique))}-{unique}"


def long_subdomain(unique: str) -> str:
    """Return a DNS subdomain of the greatest length whose first label begins with a text."""
    labels = [f"{unique}{'a' * (LABEL_LENGTH - len(unique))}", "b" * LABEL_LENGTH, "c" * LABEL_LENGTH]
    return ".".join([*labels, "d" * (SUBDOMAIN_LENGTH - 3 * (LABEL_LENGTH + 1))])


@dataclass
class OtherNames(RequestNames):
    """Draws a form for each name; a random part makes it unique.

    Attributes:
        seed: of the draws.
    """

    seed: int
    _draws: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._draws = random.Random(self.seed)  # noqa: S311 - repeatable, no secret

    @property
    def namespace(self) -> str:
        """A DNS label of the greatest length."""
        return "n" * LABEL_LENGTH

    def uid(self) -> str:
        """Return a UUID, or 32 hexadecimal digits, as the kubelet gives a pod from a file."""
        unique = uuid.uuid4()
        return self._draws.choice((str(unique), unique.hex))

    def pod(self, uid: str) -> str:
        """Return a DNS subdomain: long, with dots, of digits only, or with dashes in a row."""
        unique = uid[:8]
        digits = str(int(unique, 16))
        return self._draws.choice((long_subdomain(unique), f"a.{unique}.0", digits, f"x--{unique}--y"))

    def container(self) -> str:
        """Return a DNS label: long, of digits only, or with dashes in a row."""
        unique = secrets.token_hex(4)
        return self._draws.choice((long_label(unique), str(int(unique, 16)), f"x---{unique}"))

    def log_path(self, container: str, attempt: int) -> str:
        """Return a name with dots, dashes and underscores."""
        return self._draws.choice((f"{container}_{attempt}.log", f"{container}.{attempt}..-_.log.txt"))

    def image_tags(self) -> list[str]:
        """Return a tag with every legal character, or one of the greatest length."""
        return [self._draws.choice((f"_V.{'t' * (TAG_LENGTH - 3)}", "V_0.1--x"))]

    def labels(self) -> dict[str, str]:
        """Return labels with keys and values of the greatest length, and with every legal character."""
        key = f"{long_subdomain('k')}/{'K' * LABEL_LENGTH}"
        return {key: "V" * LABEL_LENGTH, "A.b_c-D": "0.1_2-3", "x": "-".join("xyz"), "1": "true"}

    def annotations(self) -> dict[str, str]:
        """Return annotations with texts of every kind, and a long one."""
        drawn = self._draws.sample(TEXTS, 4)
        named = {f"example.com/{LETTERS[number]}": text for number, text in enumerate(drawn)}
        return {**named, f"{long_subdomain('k')}/{'K' * LABEL_LENGTH}": "ä" * (ANNOTATION_LENGTH // 2)}
