"""Tests of the area networking."""
