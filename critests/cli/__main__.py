"""`python -m critests.cli`: the same as `critests`."""

from critests.cli.command import main

main()
