"""Tests of the area containers."""
