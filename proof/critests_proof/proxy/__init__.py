"""The fault-injecting proxies between a client and a runtime: calls, logs, streams, bundles."""
