"""Scenarios that emit samples, and what they are measured against: the floors, the accounts and the noise of
the machine.
"""
