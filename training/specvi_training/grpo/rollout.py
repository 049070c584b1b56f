"""One inspection as TRL's trainer drives it: what TRL calls an environment, around the one that evaluation uses.

TRL takes every public method but ``reset`` and ``get_reward`` for a tool, and calls tools with parsed arguments. Here it
hands over a whole turn of the model, word for word; which calls stand in it, and what is wrong with them, is for the
environment to say, as in an evaluation.
"""

import io
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from PIL import Image

from specvi_agents.dialects import as_sent
from specvi_agents.environment import EnvironmentOptions, InspectionEnvironment, Step
from specvi_agents.messages import Message, Picture, Reply, picture_of
from specvi_agents.parsing import AssistantTurn, Ended, is_well_formed, read
from specvi_agents.recording import Recording
from specvi_benchmark.splits import Candidate
from specvi_benchmark.vetting import Verdict


class Inspection:
    """An inspection whose turns come one by one, and its conversation as an evaluation would hold it.

    Attributes
    ----------
    candidate, number
        Who is inspected, and its number among the training's candidates.
    messages
        Everything the model has been shown or has said.
    turns
        What it has said.
    seconds
        Time spent on pictures.
    """

    def __init__(self, environment: InspectionEnvironment, candidate: Candidate, number: int) -> None:
        clock = time.perf_counter()
        self.candidate = candidate
        self.number = number
        self.messages: list[Message] = list(environment.reset(candidate.question))
        self.seconds = time.perf_counter() - clock
        self.turns: list[AssistantTurn] = []
        self.opening = tuple(self.messages)
        self._environment = environment
        self._record = Recording(self.messages)
        self._waiting: list[tuple[Message, str]] = []
        self._ended: Ended | None = None

    def go_on(self, reply: Reply) -> Message:
        """Carry out the calls of a turn; return what the model is shown next."""
        clock = time.perf_counter()
        step = self._hear(reply)
        self.messages.append(Message("assistant", reply.text))
        self._waiting = [(self._answer(call.name, call.arguments), call.id) for call in step.calls]
        self.seconds += time.perf_counter() - clock
        (shown,) = as_sent([answer for answer, _ in self._waiting])
        return shown

    def close(self, last: Reply | None) -> Verdict:
        """End the inspection with the model's last turn.

        Parameters
        ----------
        last
            None: the conversation had no room for the answers to its last calls, which the model has not seen.
        """
        self._ended = "length"
        if last is not None:
            self._ended = self._hear(last).ended or "budget"
        self._waiting = []
        verdict = self._record.priced(self._environment.finish(self.turns[-1].text, self._ended))
        return replace(verdict, traces=(self._record.trace(self._environment.settings, 0),))

    def reward(self) -> float:
        """Return the reward of the closed inspection."""
        return self._environment.reward(self.candidate.truth)

    def parts(self) -> Mapping[str, float]:
        """Return what the reward of the closed inspection is made of, and what it used."""
        assert self._ended is not None
        reading = read(self.turns[-1].text, self._ended)
        return {
            "correct": float(reading.answer_lenient == self.candidate.truth),
            "format": float(is_well_formed(self.turns, reading)),
            "answered": float(reading.answer is not None),
            "calls": float(self._environment.calls_used),
            "turns": float(len(self.turns)),
        }

    def _answer(self, name: str, arguments: str) -> Message:
        reply = self._environment.call(name, arguments)
        return Message("tool", reply.text, () if reply.view is None else (picture_of(reply.view),))

    def _hear(self, reply: Reply) -> Step:
        """Take down the answers to the turn before, which the model has seen now, and this turn."""
        for answer, call_id in self._waiting:
            self.messages.append(answer)
            self._record.add_answer(answer, call_id, 0.0)
        step = self._environment.hear(reply)
        self.turns.append(AssistantTurn(reply.text))
        self._record.add_reply(reply, step, 0.0)
        return step


class Rollout:
    """What TRL's trainer sees of an inspection: nothing but ``reset``, the tool and ``get_reward``. Used again and again.

    Parameters
    ----------
    options
        What an inspection shows.
    candidates
        Those that the rows of the training name by their number.
    """

    inspection: Inspection
    fault: Exception | None = None
    """What went wrong in a call by no doing of the model's."""

    def __init__(self, options: EnvironmentOptions, candidates: Sequence[Candidate]) -> None:
        self._environment = InspectionEnvironment(options)
        self._candidates = candidates

    def reset(self, question: int, **_: object) -> None:
        """Begin the inspection of the candidate of this number. The trainer reads the opening itself."""
        self.fault = None
        self.inspection = Inspection(self._environment, self._candidates[question], question)

    def spectral_visualization_tool(self, turn: str, tokens: int) -> list[dict[str, Any]]:
        """Carry out the calls of a turn, and return what the model is shown next.

        Parameters
        ----------
        turn
            What the model wrote.
        tokens
            How many tokens that was.
        """
        try:
            shown = self.inspection.go_on(Reply(turn, tokens_out=tokens, cost_usd=0.0))
        except Exception as error:
            self.fault = error  # TRL tells the model of it and goes on: the trainer looks here
            raise
        return [_block(part) for part in shown.parts]

    def get_reward(self) -> float:
        """Return the reward of the finished inspection: 1, 0.8, 0 or −0.2."""
        return self.inspection.reward()


def _block(part: str | Picture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image", "image": image_of(part)}


def image_of(picture: Picture) -> Image.Image:
    """Return a picture as a processor takes it, from the bytes that an evaluation shows."""
    return Image.open(io.BytesIO(picture.png)).convert("RGB")
