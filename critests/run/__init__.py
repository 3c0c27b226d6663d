"""A run: what the user asked for, what is set up once, what a test comes to, and how it all ends."""
