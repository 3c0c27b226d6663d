"""Cgroups of this machine, of version 1 and 2 alike."""
