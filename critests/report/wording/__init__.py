"""How things are written: hostile text made harmless, numbers with their units, Markdown."""
