"""The leaderboard as a folder to publish: one self-contained page, its numbers as JSON and as CSV."""
