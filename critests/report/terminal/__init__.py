"""What all terminal output shares: the console, the colours of outcomes, and the progress of a run."""
