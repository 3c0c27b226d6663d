"""What is shown of a benchmark, and of the operations of any run: its page, and its summary on a terminal."""
