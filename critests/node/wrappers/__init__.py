"""Wrappers of the OCI runtime, CNI plugins and monitors: POSIX shell scripts that stand in for a program, and
do what a plan says.

`actions` is what can be planned, `stand_in` writes the scripts and reads their records, `phases` divides the
time of a call by them, `cost` measures what they cost themselves.
"""
