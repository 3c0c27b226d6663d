"""Tests of the area images."""
