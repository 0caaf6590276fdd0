"""`trnbench fabric`: bodies of its commands."""
