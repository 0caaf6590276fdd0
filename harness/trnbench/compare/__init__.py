"""What changed between two runs, and whether that is good enough."""
