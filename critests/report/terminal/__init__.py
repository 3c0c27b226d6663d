"""What all output on a terminal shares: the console, the colours of outcomes, progress during a run."""
