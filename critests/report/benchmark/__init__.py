"""The reports of a benchmark, and of the operations of any run: the page, and the summary on the terminal."""
