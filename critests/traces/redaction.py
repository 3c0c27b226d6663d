"""What never stands in a trace: credentials, values of environment variables, what commands print, and what a
runtime tells of its own configuration.

Command lines, labels, names of images and paths do stand in it: they are the workload.
"""

from typing import Any, TypeVar

from google.protobuf.message import Message

from critests.client.recording import REDACTED, SECRET_FIELDS

M = TypeVar("M", bound=Message)

HARMLESS = frozenset({"PATH", "HOME", "HOSTNAME", "TERM", "LANG", "PWD", "TZ"})
"""Environment variables whose values stay."""
LEFT_OUT = frozenset({"info", "stdout", "stderr", "url"})
"""Fields of answers: the verbose ones repeat the whole configuration, URLs of sessions are keys to them."""
COPIES = "last-applied-configuration"
"""An annotation whose key ends so repeats what a user wrote, secrets and all."""


def without_secrets(message: M) -> M:
    """Return a copy of a message that is fit for a file."""
    copy = type(message)()
    copy.CopyFrom(message)
    _clean(copy)
    return copy


def _clean(message: Message) -> None:
    for field, value in message.ListFields():
        if field.name in LEFT_OUT:
            message.ClearField(field.name)
        elif field.name in SECRET_FIELDS and field.message_type is None:
            setattr(message, field.name, REDACTED)
        elif field.name == "envs":
            for variable in value:
                if variable.key not in HARMLESS:
                    variable.value = REDACTED.encode()
        elif field.name == "annotations":
            _shorten(value)
        elif field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for inner in value if field.is_repeated else (value,):
                _clean(inner)


def _shorten(annotations: Any) -> None:  # noqa: ANN401 - protobuf's map of texts
    for key in list(annotations):
        if key.endswith(COPIES):
            annotations[key] = REDACTED
