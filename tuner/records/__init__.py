"""Nouns that every part speaks: frozen records, no computation, no files."""
