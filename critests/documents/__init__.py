"""Variants of the documents that a runtime reads beside requests: each field of a document's specification,
with the values that a writer could give it.
"""
