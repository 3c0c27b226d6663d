"""The tests: one folder an area, one module a catalogue group, one function a promise."""
