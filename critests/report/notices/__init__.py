"""Telling somebody that something changed between two runs of one runtime."""
