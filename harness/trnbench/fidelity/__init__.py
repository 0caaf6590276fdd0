"""The emulator held against published measurements: points, adapters, error statistics."""
