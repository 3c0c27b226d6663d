"""What is measured: one test function for each scenario, and the work that several of them share."""
