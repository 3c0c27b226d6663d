"""Measurement: sides, timed windows, sampling, and the resources that a runtime uses."""
