"""The commands of the `specvi` program that belong to the leaderboard."""
