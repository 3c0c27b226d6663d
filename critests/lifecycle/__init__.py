"""Sandboxes and containers as the kubelet makes them: requests, creating, waiting, removing, and the label of
the run.
"""
