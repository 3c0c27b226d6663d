"""Unit tests of the catalogue."""
