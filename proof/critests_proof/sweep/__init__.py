"""The sweep: the choice of tests for each derived fault, and its outcome."""
