"""RESEARCH: plans, runner and records of the paper, leaderboard, ablation, robustness and speed."""
