"""Submissions, ranking, tables, site and demo."""
