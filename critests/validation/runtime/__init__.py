"""Tests of the area runtime."""
