"""SHARE: what several baselines have in common."""
