"""What reports show of a run, as plain data: groups of tests, evidence, numbers of operations, growth."""
