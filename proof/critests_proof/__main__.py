"""`python -m critests_proof`."""

from critests_proof.cli import main

main()
