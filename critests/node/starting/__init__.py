"""Throwaway runtimes: chosen, configured, started, restarted."""
