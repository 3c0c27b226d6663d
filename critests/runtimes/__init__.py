"""Kinds of runtime, a package each: facts, configuration of a private instance, known failures."""
