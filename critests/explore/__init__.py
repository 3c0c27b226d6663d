"""Sequences that nobody thought of: made at random, judged by the model of the API after every step, and
handed back as the shortest one that breaks a promise.

`exploring` leads, `machine` makes sequences with Hypothesis, `possible` says which steps there are, `playing`
plays them on a runtime, `shortening` leaves out what is not needed, `findings` writes what was found.
"""
