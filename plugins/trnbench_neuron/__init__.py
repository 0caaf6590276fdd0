"""The Neuron stack: Trainium and Inferentia2 instances, measured with the tools of their vendor.

What each module reads follows the format its document prints; what was never tried on real
hardware is listed in `settings` and shown by `trnbench doctor`.
"""
