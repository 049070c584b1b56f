"""Reads every inspection of a run again with the present parser, and says which verdicts change."""

from dataclasses import dataclass

from specvi_agents.rereading import reread
from specvi_benchmark.runs.predictions import Prediction
from specvi_benchmark.trace_page import RecordedRun
from specvi_benchmark.traces import TraceRecord
from specvi_benchmark.vetting import Verdict

COMPARED = ("outcome", "answer", "answer_lenient", "votes")
"""What the parser decides. Costs and the probability of a single sample are not in the words."""


@dataclass(frozen=True, slots=True)
class Change:
    """A question whose verdict would be another one now, both in words."""

    task: str
    id: str
    was: str
    now: str


@dataclass(frozen=True, slots=True)
class RunReplay:
    """What came of reading a run again.

    Attributes
    ----------
    same
        Questions whose verdict stays.
    changed
        Questions whose verdict changes.
    unread
        Questions that the parser never read: the statement of a system that answers directly, or an end
        that does not say why it was one.
    missing
        Questions with a verdict, but without a trace of every sample.
    """

    same: int
    changed: tuple[Change, ...]
    unread: int
    missing: int


def replay_run(run: RecordedRun) -> RunReplay:
    """Read every recorded inspection of a run again and compare with its predictions."""
    must_agree = bool(run.record.config.get("abstain_on_split", False))
    same = unread = missing = 0
    changed: list[Change] = []
    for key, row in run.predictions.items():
        samples = run.traces.get(key, ())
        if len(samples) != len(row.votes or (None,)):
            missing += 1
        elif not all(_was_read(sample) for sample in samples):
            unread += 1
        else:
            now = reread(samples, must_agree=must_agree)
            if all(getattr(row, name) == getattr(now, name) for name in COMPARED):
                same += 1
            else:
                changed.append(Change(*key, was=_words(row), now=_words(now)))
    return RunReplay(same, tuple(changed), unread, missing)


def _was_read(sample: TraceRecord) -> bool:
    """Tell whether the parser read the end: the inspection broke off, or its last turn says why it was the last."""
    if not sample.turns or "parser_version" not in sample.environment:
        return False
    last = sample.turns[-1]
    return last.role == "error" or (last.role == "assistant" and last.stop is not None)


def _words(verdict: Verdict | Prediction) -> str:
    lenient = verdict.answer_lenient
    aside = "" if lenient == verdict.answer else f", leniently {lenient or 'none'}"
    votes = f", votes {' '.join(verdict.votes)}" if verdict.votes else ""
    return f"{verdict.answer or 'none'} ({verdict.outcome.value}{aside}{votes})"
