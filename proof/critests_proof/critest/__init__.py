"""critest, the validation suite of cri-tools, under the same faults as this suite."""
