"""What stands beside every number: the client alone, the OCI runtime alone, and how quiet the machine is."""
