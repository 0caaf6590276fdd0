"""Charts: plain Vega-Lite dictionaries, drawn to static SVG without a browser."""
