"""Variants of the documents other than requests that a runtime reads: each field of the specification, with
the values that a writer could give it.
"""
