"""Reads a kept inspection again: the verdict that its words come to now, without a model."""

from collections.abc import Sequence
from typing import get_args

from specvi_agents.messages import StopReason
from specvi_agents.parsing import AssistantTurn, Ended, Reading, read
from specvi_agents.parsing import reward as reward_of
from specvi_agents.voting import elect
from specvi_benchmark.traces import TraceRecord, Turn
from specvi_benchmark.vetting import Answer, Outcome, Verdict

_ENDS: dict[str, Ended] = {**{stop: stop for stop in get_args(StopReason)}, "budget": "budget"}


def reread(traces: Sequence[TraceRecord], *, must_agree: bool = False) -> Verdict:
    """Return the verdict of the traces of one question, one trace a sample.

    Parameters
    ----------
    traces
        In the order of their samples.
    must_agree
        As in `elect`; the run's config says it (``abstain_on_split``).

    Returns
    -------
    With answer, outcome, lenient answer, votes, calls, tokens and seconds. What a trace does not hold is not
    made up: the cost is None, and so is the P(YES) of a single sample.
    """
    return elect([_verdict(trace) for trace in traces], must_agree=must_agree)


def reread_reward(trace: TraceRecord, truth: Answer) -> float:
    """Return the reward of a kept inspection: 1, 0.8, 0 or −0.2; of one that broke off, −0.2."""
    turns = [AssistantTurn(turn.text, turn.reasoning) for turn in _spoken(trace)]
    return reward_of(truth, turns, _reading(trace))


def _verdict(trace: TraceRecord) -> Verdict:
    reading = _reading(trace)
    spoken = _spoken(trace)
    usage = [turn.usage or {} for turn in spoken]
    return Verdict(
        trace.id,
        trace.task,
        reading.outcome,
        reading.answer,
        reading.answer_lenient,
        tool_calls=sum(turn.role == "tool" for turn in trace.turns),
        tokens_in=sum(used.get("tokens_in", 0) for used in usage),
        tokens_out=sum(used.get("tokens_out", 0) for used in usage),
        cost_usd=None,
        seconds=sum(turn.seconds or 0.0 for turn in trace.turns),
    )


def _reading(trace: TraceRecord) -> Reading:
    """Read the last turn; an inspection that broke off, or in which nobody spoke, is an `error`."""
    last = trace.turns[-1] if trace.turns else None
    if last is None or last.role != "assistant":
        return Reading(Outcome.ERROR, None, None, is_sound=False)
    return read(last.text, _ENDS.get(last.stop or "stop", "stop"), last.refusal)


def _spoken(trace: TraceRecord) -> list[Turn]:
    return [turn for turn in trace.turns if turn.role == "assistant"]
