"""Benchmarks: the scenarios, how they are measured, the floors beside every number, and the load.

Scenarios emit samples and judge nothing but that their operations succeeded.
"""
