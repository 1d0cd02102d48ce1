"""The leaderboard: every method on every pack: its jobs, its parameters, its ranking and its views."""

from __future__ import annotations
