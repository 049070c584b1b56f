"""Submissions: what a folder of answers made elsewhere may hold, and how it is checked, made and re-run."""
