"""The micro-benchmarks that every generation shares, with their NKI sources."""
