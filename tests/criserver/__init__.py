"""A small CRI server for the suite's own tests: right by default, wrong in chosen ways."""

from tests.criserver.server import CriServer, serve
from tests.criserver.state import ImageConfig

__all__ = ["CriServer", "ImageConfig", "serve"]
