"""What all pages share: the environment of their templates, style and common parts."""
