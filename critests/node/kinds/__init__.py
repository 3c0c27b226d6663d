"""The kinds of runtime that can be started privately: how each is configured, and what it leaves."""
