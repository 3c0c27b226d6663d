"""Documents that a runtime reads in addition to requests, with unusual values in every field."""
