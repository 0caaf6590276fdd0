"""The built-in sections, one per file: each is a function of runs."""
