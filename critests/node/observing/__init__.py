"""What the runtime and the machine offer, read without changing either."""
