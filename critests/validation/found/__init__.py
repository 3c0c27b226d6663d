"""Sequences of calls in which `critests explore` found a bug: the shortest ones, for every runtime."""
