"""Where the fitted constants of the cost tables come from: the same points give the same numbers."""
