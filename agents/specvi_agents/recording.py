"""The record of one inspection: every turn as it was, every picture once, what it used."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from specvi_agents.environment import Step
from specvi_agents.messages import Message, Picture, Reply
from specvi_benchmark.traces import Trace, Turn, ViewRecord
from specvi_benchmark.vetting import Verdict


class Recording:
    """Takes down an inspection turn by turn."""

    def __init__(self, opening: Sequence[Message]) -> None:
        self._turns: list[Turn] = []
        self._pictures: dict[str, bytes] = {}
        self._replies: list[Reply] = []
        for message in opening:
            self._turns.append(Turn(role=message.role, text=message.text, views=self._kept(message.pictures)))

    def add_reply(self, reply: Reply, step: Step, seconds: float) -> None:
        """Add an assistant's turn, with the calls in it, and why it ended."""
        self._replies.append(reply)
        self._turns.append(
            Turn(
                role="assistant",
                text=reply.text,
                tool_calls=step.calls,
                reasoning=reply.reasoning,
                refusal=reply.refusal,
                stop=step.ended or reply.stop,
                usage={"tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out},
                seconds=seconds,
            )
        )

    def add_answer(self, answer: Message, call_id: str, seconds: float) -> None:
        """Add what the tool answered to a call."""
        views = self._kept(answer.pictures)
        self._turns.append(
            Turn(role="tool", text=answer.text, tool_call_id=call_id, views=views, seconds=seconds)
        )

    def add_error(self, reason: str) -> None:
        """Add why the inspection broke off."""
        self._turns.append(Turn(role="error", text=reason.encode("utf-8", "replace").decode()))

    def priced(self, verdict: Verdict) -> Verdict:
        """Return the verdict with the tokens and the cost of all turns so far."""
        return replace(
            verdict,
            tokens_in=sum(reply.tokens_in for reply in self._replies),
            tokens_out=sum(reply.tokens_out for reply in self._replies),
            cost_usd=total_cost(reply.cost_usd for reply in self._replies),
        )

    def trace(self, settings: Mapping[str, Any], sample: int) -> Trace:
        """Return the trace, with the pictures that its views name."""
        return Trace(tuple(self._turns), settings, sample, self._pictures)

    def _kept(self, pictures: Sequence[Picture]) -> tuple[ViewRecord, ...]:
        for picture in pictures:
            self._pictures[picture.record.png_sha256] = picture.png
        return tuple(picture.record for picture in pictures)


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Return the sum, None if any part of it is not known."""
    total = 0.0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total
