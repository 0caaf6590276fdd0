"""Measuring: everything between a prepared program and an observation that can be judged.

`observe(program, …)` warms up, calibrates, times cold, hot and batched calls with pytest-benchmark,
stops by stated rules and collects the evidence. Nothing here knows a device.
"""
