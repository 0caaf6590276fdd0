"""One module per way to emulate a published point: `predict(point, bench) -> Prediction`."""
