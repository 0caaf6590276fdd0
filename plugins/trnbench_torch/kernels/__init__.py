"""Kernels in torch: each `prepare(point, device, rng) -> Launch`."""
