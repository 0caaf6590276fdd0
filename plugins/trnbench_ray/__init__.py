"""Cases on the machines of a Ray cluster: `trnbench run --executor ray`."""
