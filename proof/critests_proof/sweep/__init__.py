"""One derived fault after the other: which tests are tried for it, and what became of it."""
