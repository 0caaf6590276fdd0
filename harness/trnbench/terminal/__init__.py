"""What commands are made of, the core's and those of plugins: options, tables, output."""

VERBOSITY = "trnbench.verbosity"
"""Of the context's `meta`: which levels `say` prints."""

WIDE = "trnbench.wide"
"""Of the context's `meta`: that a wide table was asked for."""
