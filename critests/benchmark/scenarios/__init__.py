"""The scenarios: one test function each, and the workloads that several of them share."""
