"""Tests of sequences of calls that the kubelet makes, and of what its relist finds after them."""
