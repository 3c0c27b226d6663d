"""What all pages share: the environment that their templates are rendered in, their style, their parts."""
