"""SHARE: what every method has: input checks, base class, probabilities, model and label files."""
