"""Streaming sessions of the CRI: exec, attach and port-forward, over WebSocket and SPDY/3.1 behind one
interface.

Start at `command_sessions.open_remote_command` and `port_forward.open_port_forward`. Below them: a
`transport` has numbered channels, a `ledger` stores what arrived on them, a `wire` is the socket. There are
no threads: bytes move only while a caller waits, so a session that is not read is a stalled client, which
some tests need. Every wait takes a deadline in seconds.
"""
