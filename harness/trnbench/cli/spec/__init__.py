"""`trnbench spec`: bodies of its commands."""
