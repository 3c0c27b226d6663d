"""Tests of the area mounts."""
