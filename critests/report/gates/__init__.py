"""May a run pass? A policy, perhaps a baseline, one exit code, and the lines that explain it."""
