"""Answers of a model that were given before, and what has to be the same for them to stand."""
