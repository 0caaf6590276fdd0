"""Whether a run is good enough: rules, what they found, baselines, and how others are told."""
