"""containerd."""
