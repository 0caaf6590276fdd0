"""Two versions measured in turns: what `trnbench compare --paired` does."""
