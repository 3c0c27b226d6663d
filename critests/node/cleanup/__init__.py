"""Removal of a throwaway runtime and of everything that it has changed."""
