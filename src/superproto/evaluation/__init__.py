"""SCORE: evaluate a method, bootstrap intervals, tune on held-out classes, reject."""
