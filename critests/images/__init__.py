"""Test images: which exist and why, how they are built, and the registry on loopback that serves them, also
with faults.
"""
