"""Test images: what exists and why, how they are built, and the registry on loopback that serves them and can
misbehave.
"""
