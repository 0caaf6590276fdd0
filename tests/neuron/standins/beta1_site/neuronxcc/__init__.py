"""Stands in for the package of NKI Beta 1."""
