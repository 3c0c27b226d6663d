"""Benchmarks: scenarios, measurement, reference measurements, and load.

Scenarios emit samples; the only thing that they judge is whether their operations succeeded.
"""
