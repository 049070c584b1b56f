"""One verdict from several inspections of the same question."""

from collections.abc import Sequence

from specvi_agents.recording import total_cost
from specvi_benchmark.vetting import ANSWERS, Answer, Outcome, Verdict, Vote


def elect(verdicts: Sequence[Verdict], *, must_agree: bool = False) -> Verdict:
    """Return the verdict of the samples' votes; a single sample's own verdict stays as it is.

    The answer is what a strict majority of all samples says, or with ``must_agree`` what all of them say;
    otherwise the outcome is `abstained`. If samples failed and could still turn that, it is `error`, so that
    the question is asked again. P(YES) is the share of YES among the samples that answered.
    """
    first = verdicts[0]
    if len(verdicts) == 1:
        return first
    votes: tuple[Vote, ...] = tuple(verdict.answer or "none" for verdict in verdicts)
    needed = len(votes) if must_agree else len(votes) // 2 + 1
    answer = _elected(votes, needed)
    answered = len(votes) - votes.count("none")
    return Verdict(
        first.id,
        first.task,
        _outcome(verdicts, votes, needed, answer),
        answer,
        _elected([verdict.answer_lenient or "none" for verdict in verdicts], needed),
        p_yes=votes.count("YES") / answered if answered else None,
        votes=votes,
        tool_calls=sum(verdict.tool_calls for verdict in verdicts),
        tokens_in=sum(verdict.tokens_in for verdict in verdicts),
        tokens_out=sum(verdict.tokens_out for verdict in verdicts),
        cost_usd=total_cost(verdict.cost_usd for verdict in verdicts),
        traces=tuple(trace for verdict in verdicts for trace in verdict.traces),
    )


def _elected(votes: Sequence[Vote], needed: int) -> Answer | None:
    return next((choice for choice in ANSWERS if votes.count(choice) >= needed), None)


def _outcome(
    verdicts: Sequence[Verdict], votes: Sequence[Vote], needed: int, answer: Answer | None
) -> Outcome:
    if answer is not None:
        return Outcome.ANSWERED
    failed = sum(verdict.outcome is Outcome.ERROR for verdict in verdicts)
    is_open = failed > 0 and any(votes.count(choice) + failed >= needed for choice in ANSWERS)
    return Outcome.ERROR if is_open else Outcome.ABSTAINED
