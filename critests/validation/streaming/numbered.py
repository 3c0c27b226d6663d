"""What tests send both ways where much has to arrive as it was sent."""

NUMBERED = b"".join(b"%07d\n" % number for number in range(100_000))
"""Lines of which each says which it is: what is lost, doubled or changed shows."""
