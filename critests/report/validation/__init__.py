"""The page of a validation, and its summary on a terminal."""
