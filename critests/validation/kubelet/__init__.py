"""Tests of the kubelet's sequences: what it calls one after the other, and what its relist then shows."""
