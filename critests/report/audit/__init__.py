"""What is shown of an audit of the suite: its page, and its summary on a terminal."""
