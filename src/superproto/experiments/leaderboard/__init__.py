"""The leaderboard: every method of the zoo on every pack: its plan, its run, and its views."""

from __future__ import annotations
