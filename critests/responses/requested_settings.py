"""What was requested comes back, wherever a message about the object has a field for it."""

import posixpath
from collections.abc import Iterator
from typing import Any, Final

from critests.api import api_pb2 as cri
from critests.responses.rules import Difference, Finding, differing, in_one_line

# list entries, statuses and configurations have the same fields but no common type
Reported = Any
Config = Any

MOUNT_SHOULDS: Final = ("selinux_relabel", "recursive_read_only", "propagation")


def metadata_findings(
    config: Config, reported: Reported, identity: str, *, metadata: str, labels: str, annotations: str
) -> Iterator[Finding]:
    """Yield which of metadata, labels and annotations are not those of the request.

    The runtime may add labels and annotations.

    Args:
        config: of the request.
        reported: a list entry, a status, or the attributes of stats.
        identity: id of the object.
        metadata: aspect that other metadata break.
        labels: aspect that other labels break.
        annotations: aspect that other annotations break.
    """
    kind = reported.DESCRIPTOR.name
    if config.HasField("metadata") and reported.metadata != config.metadata:
        expected, observed = in_one_line(config.metadata), in_one_line(reported.metadata)
        yield metadata, f"{kind}.metadata", Difference("metadata", expected, observed, identity)
    for aspect, name in ((labels, "labels"), (annotations, "annotations")):
        there = getattr(reported, name)
        for key, value in getattr(config, name).items():
            if there.get(key) != value:
                difference = Difference(name, {key: value}, {key: there.get(key)}, identity)
                yield aspect, f"{kind}.{name}", difference


def container_status_findings(config: Config, status: Reported) -> Iterator[Finding]:
    """Yield which settings of a container its status does not report as requested."""
    # the directory is in the configuration of the sandbox; a status has both parts
    if config.log_path and status.log_path and not status.log_path.endswith(config.log_path):
        yield differing("CTA-10", status, "log_path", f"…/{config.log_path}", status.log_path)
    if config.stop_signal and status.stop_signal and config.stop_signal != status.stop_signal:
        expected, observed = map(cri.Signal.Name, (config.stop_signal, status.stop_signal))
        yield differing("STP-12", status, "stop_signal", expected, observed)
    by_path = {posixpath.normpath(mount.container_path): mount for mount in status.mounts}
    for mount in config.mounts:
        yield from _mount_findings(status, mount, by_path.get(posixpath.normpath(mount.container_path)))


def _mount_findings(status: Reported, wanted: Reported, reported: Reported) -> Iterator[Finding]:
    if reported is None:
        yield differing("CTA-09/required", status, "mounts", wanted.container_path, "no such mount")
        return
    if reported.readonly != wanted.readonly:
        yield (
            "CTA-09/required",
            "Mount.readonly",
            Difference("readonly", wanted.readonly, reported.readonly, status.id),
        )
    for name in MOUNT_SHOULDS:
        expected, observed = getattr(wanted, name), getattr(reported, name)
        if expected != observed:
            yield "CTA-09/recommended", f"Mount.{name}", Difference(name, expected, observed, status.id)
    if reported.image.image and reported.image.image != wanted.image.image:
        yield (
            "CTA-09/recommended",
            "Mount.image",
            Difference("image", wanted.image.image, reported.image.image, status.id),
        )


def image_findings(config: Config, reported: Reported) -> Iterator[Finding]:
    """Yield whether a list entry or status names another image than the user specified."""
    named = reported.image.user_specified_image
    wanted = config.image.user_specified_image or config.image.image
    if named and named != wanted:
        yield (
            "CTA-06/if-set",
            "ImageSpec.user_specified_image",
            Difference("user_specified_image", wanted, named, reported.id),
        )


def namespace_findings(config: Config, status: Reported) -> Iterator[Finding]:
    """Yield which namespace options of a sandbox its status does not report as requested."""
    context = config.linux.security_context
    if not context.HasField("namespace_options"):
        return
    wanted, options = context.namespace_options, status.linux.namespaces.options
    for name in ("network", "pid", "ipc"):
        expected, observed = getattr(wanted, name), getattr(options, name)
        if expected != observed:
            difference = Difference(name, _mode(expected), _mode(observed), status.id)
            yield "SBA-08", f"NamespaceOption.{name}", difference
    if wanted.HasField("userns_options") and options.userns_options != wanted.userns_options:
        difference = Difference(
            "userns_options",
            in_one_line(wanted.userns_options),
            in_one_line(options.userns_options),
            status.id,
        )
        yield "SBA-08", "NamespaceOption.userns_options", difference


def handler_findings(handler: str, reported: Reported) -> Iterator[Finding]:
    """Yield whether a sandbox has another runtime handler than requested; any may stand for the default."""
    if handler and reported.runtime_handler != handler:
        yield differing("SBA-07", reported, "runtime_handler", handler, reported.runtime_handler)


def _mode(mode: int) -> str:
    return cri.NamespaceMode.Name(mode) if mode in cri.NamespaceMode.values() else str(mode)
