"""One run: options, set-up, results of tests, conclusion."""
