"""Which programs of a private runtime get a wrapper."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class WrappedPrograms:
    """The programs in front of which a wrapper is put.

    Attributes:
        oci: the OCI runtime of a handler.
        cni: the CNI plugins.
        monitor: the shim or conmon, if the kind has one.
        handler: the handler by its name; empty for the default one.
    """

    oci: bool = False
    cni: bool = False
    monitor: bool = False
    handler: str = ""


NONE_WRAPPED = WrappedPrograms()
