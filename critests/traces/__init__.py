"""The traffic between a client and a runtime, recorded without secrets and played again on another runtime.

`trace` is the file, `redaction` what never stands in it, `recording` the proxy that writes it, `replaying`
plays it, `differences` says what was answered otherwise.
"""
