"""The proof of the suite: a proxy in front of a runtime that breaks one promise at a time, and which test
notices.
"""
