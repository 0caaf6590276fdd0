"""Charts: static SVG, drawn without a browser."""
