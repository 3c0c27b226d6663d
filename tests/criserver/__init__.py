"""A small CRI server of ours: right by default, wrong in chosen ways, for the harness's own tests."""

from tests.criserver.server import CriServer, serve
from tests.criserver.state import ImageConfig

__all__ = ["CriServer", "ImageConfig", "serve"]
