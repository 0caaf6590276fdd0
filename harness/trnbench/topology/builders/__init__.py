"""Builders of graphs: each file connects nodes of one shape; `assembly` puts shapes together."""
