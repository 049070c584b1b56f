"""The ranking as tables for a paper, a page of text, or another program."""
