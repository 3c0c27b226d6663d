"""Rules that hold for every response of a runtime, whichever test made the call."""
