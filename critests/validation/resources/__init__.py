"""Tests of the area resources."""
