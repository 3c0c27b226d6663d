"""Tests of the area sandboxes."""
