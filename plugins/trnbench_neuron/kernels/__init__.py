"""Kernels that the measured stack needs beside those of the families."""
