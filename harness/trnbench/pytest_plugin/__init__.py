"""trnbench inside pytest: kernels as benchmark tests, and a fixture for one's own functions."""
