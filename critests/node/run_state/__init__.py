"""Runs that are alive on this machine, and what each throwaway runtime consists of."""
