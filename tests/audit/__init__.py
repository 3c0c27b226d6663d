"""Unit tests of the audit: the language of faults, the proxy, and what it does to logs and streams."""
