"""Scripts for interpreters of other environments: they import nothing of ours, only what is there."""
