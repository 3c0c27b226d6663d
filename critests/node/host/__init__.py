"""Processes, programs, mounts and addresses of this machine."""
