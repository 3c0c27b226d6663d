"""What is shown of a validation: its page, and its summary on a terminal."""
