"""The kernels every generation shares, one file per family."""
