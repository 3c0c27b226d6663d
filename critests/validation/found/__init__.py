"""Sequences that `critests explore` found on some runtime: the shortest ones, played again on every other."""
