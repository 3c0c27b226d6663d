"""How it is measured: sides, timed windows, sampling, and what it all cost the runtime."""
