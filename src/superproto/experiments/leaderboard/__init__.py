"""RESEARCH: the leaderboard of every method on every data set: jobs, parameter choice, ranking and views."""

from __future__ import annotations
