"""Streaming sessions of the CRI: exec, attach and port-forward, over WebSocket and SPDY/3.1 behind one
interface.

Start at `sessions.open_remote_command` and `port_forward.open_port_forward`. Below them: a `transport`
carries numbered channels, a `ledger` keeps what arrived on them, a `wire` is the socket. Nothing here starts
a thread: bytes move while a caller waits, so a session that nobody reads is a stalled client, which is what
some tests need. Every wait takes a deadline in seconds.
"""
