"""Tests of the area streaming."""
