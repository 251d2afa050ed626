"""Commands of the paper's experiment and of the leaderboard."""
