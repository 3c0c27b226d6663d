"""cri-dockerd with Docker."""
