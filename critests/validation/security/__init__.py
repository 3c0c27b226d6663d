"""Tests of the area security."""
