"""What of a run is shown, as plain data: groups of tests, evidence, numbers of an operation, what changed."""
