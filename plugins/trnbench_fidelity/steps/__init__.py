"""Published steps of whole models, and how far a composed step is from them (docs/fidelity.md)."""
