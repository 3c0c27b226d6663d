"""Sandboxes and containers like the kubelet's: requests, creation, waiting, removal, and the label of the
run.
"""
