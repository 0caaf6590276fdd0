"""`trnbench nki`: bodies of its commands."""
