"""Whether a run passes: a policy, optionally a baseline, one exit code, and the lines that explain it."""
