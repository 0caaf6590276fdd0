"""Emulated cases of stored runs, asked again."""
