"""`trnbench workload`: bodies of its commands."""
