"""Research verbs."""
