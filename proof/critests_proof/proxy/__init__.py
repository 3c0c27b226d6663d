"""What stands between a client and a runtime, and breaks what a fault says: calls, logs, streams, bundles."""
