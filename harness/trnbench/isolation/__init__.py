"""Code of others held: in a process that ends with all it started, or in this one under a check of what it
changed, a time limit and a standard output of its own."""
