"""How near published evidence stands to an emulated number, and what band follows (docs/fidelity.md)."""
