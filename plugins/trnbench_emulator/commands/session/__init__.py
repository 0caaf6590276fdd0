"""Many variants of kernels, asked one after the other: `trnbench.nki.Session`, and the commands on it."""
