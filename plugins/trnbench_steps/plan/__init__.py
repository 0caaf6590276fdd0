"""Which layout on which instance: feasible ones ranked, the others with the reason."""
