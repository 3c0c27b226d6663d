"""Wording: escaping of hostile text, numbers with units, Markdown, and the sentences of reasons."""
