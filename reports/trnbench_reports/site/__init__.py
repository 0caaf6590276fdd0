"""Several runs as a folder of static pages: `trnbench site`."""
