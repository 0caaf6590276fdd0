"""The built-in report sections and output formats of trnbench, functions of `Run` values alone."""
