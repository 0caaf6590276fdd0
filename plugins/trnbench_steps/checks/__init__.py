"""What steps check of plugins."""
