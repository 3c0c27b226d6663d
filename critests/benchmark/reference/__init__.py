"""Reference measurements: the client alone, the OCI runtime alone, and the noise of the machine."""
