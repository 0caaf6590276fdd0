"""Pictures of topologies: where things lie, and the SVG they become."""
