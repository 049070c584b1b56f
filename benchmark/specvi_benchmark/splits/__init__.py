"""Frozen, fingerprinted sets of candidates, in the official schema."""

from specvi_benchmark.splits.split import Candidate, Message, Part, Split, question_id

__all__ = ["Candidate", "Message", "Part", "Split", "question_id"]
