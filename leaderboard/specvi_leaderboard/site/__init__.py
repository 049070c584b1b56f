"""The leaderboard as a folder to publish: pages, scripts and style from templates, and the data they show."""
