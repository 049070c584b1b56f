"""Four small requests before the first question: does the server know the key and the model, and see pictures?

A server that drops pictures answers every question, from the text alone. It shows in the count of prompt tokens.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from specvi_agents.messages import Message, ModelError, Picture, ToolCall, picture_of
from specvi_agents.models.faults import Declined, unusable
from specvi_agents.models.wire import Form
from specvi_benchmark.spectrum import Spectrum
from specvi_benchmark.views import render
from specvi_benchmark.views.tool import TOOL_NAME

ToolPictures = Literal["auto", "tool", "user"]
"""Where the pictures of tool answers go: into the tool's message, into the user turn after it, or as it turns out."""

LEAST_TOKENS = 16  # the smallest picture of any model seen costs more, the marks of a dropped one less

Ask = Callable[[Sequence[Message], Form, bool], Awaitable[Any]]
"""(messages, form, whether the tool is offered) → the parsed answer; raises `Declined`, `ModelError`, `UserError`."""


@dataclass(frozen=True, slots=True)
class _Tried:
    """Prompt tokens of the same conversation without and with its picture; None where they are not counted."""

    without: int | None
    shown: int | None

    @property
    def is_blind(self) -> bool:
        return (
            self.without is not None and self.shown is not None and self.shown - self.without < LEAST_TOKENS
        )


async def find_form(ask: Ask, *, tools: bool, tool_pictures: ToolPictures) -> Form:
    """Return how this server wants conversations written.

    Raises
    ------
    VetterUnusable
        It refuses the requests, does not see pictures, or not where ``tool_pictures`` wants them.
    """
    in_user = Form(tool_pictures=False)
    tried = await _try(ask, in_user, lambda picture: (_question(picture),), tools=False)
    if tried.is_blind:
        raise unusable(
            "the model's server drops pictures",
            f"{tried.shown} prompt tokens with a picture, {tried.without} without",
            "serve a vision model with its image processor; check=off skips this check",
        )
    if not tools:
        return in_user
    if tool_pictures == "user":
        await _tokens(ask, _called(None), in_user, tools=True)
        return in_user
    await _tokens(ask, _called(None), in_user, tools=True)
    try:
        tried = await _try(ask, Form(), _called, tools=True)
        reason = "it drops them"
    except _Refused as fault:
        reason = str(fault)
    else:
        if not tried.is_blind:
            return Form()
    if tool_pictures == "tool":
        raise unusable(
            "the model's server takes no pictures in tool messages", reason, "--option tool_pictures=user"
        )
    return in_user


class _Refused(Exception):  # noqa: N818
    """The server refused a picture that it may take elsewhere."""


async def _try(
    ask: Ask, form: Form, conversation: Callable[[Picture | None], tuple[Message, ...]], *, tools: bool
) -> _Tried:
    without = await _tokens(ask, conversation(None), form, tools=tools)
    try:
        answer = await ask(conversation(_picture()), form, tools)
    except (Declined, ModelError) as fault:
        if tools:
            raise _Refused(str(fault)) from None
        raise unusable(
            "the model's server refuses a picture", str(fault), "choose a model that sees pictures"
        ) from None
    return _Tried(without, _counted(answer))


async def _tokens(ask: Ask, messages: Sequence[Message], form: Form, *, tools: bool) -> int | None:
    try:
        return _counted(await ask(messages, form, tools))
    except (Declined, ModelError) as fault:
        fix = "a field it does not know is left out with --option omit=FIELD; docs/models.md"
        if tools:
            fix = f"serve it with tool calls, or --option dialect=hermes, or tool=off; {fix}"
        raise unusable("the model's server refuses a first small request", str(fault), fix) from None


def _counted(answer: Any) -> int | None:
    tokens = (answer.get("usage") or {}).get("prompt_tokens")
    return tokens if isinstance(tokens, int) and tokens > 0 else None


def _question(picture: Picture | None) -> Message:
    return Message("user", "Reply with OK.", () if picture is None else (picture,))


def _called(picture: Picture | None) -> tuple[Message, ...]:
    call = ToolCall(id="call-0", name=TOOL_NAME, arguments='{"wavelength_range": [4000, 5000]}')
    shown = () if picture is None else (picture,)
    answer = Message("tool", "4000.0 to 5000.0 Å", shown, call_id=call.id)
    return (
        Message("user", "Call the tool once, then reply with OK."),
        Message("assistant", calls=(call,)),
        answer,
    )


@cache
def _picture() -> Picture:
    """Return a picture of the size and kind that inspections show: a flat spectrum."""
    wavelength_AA = np.linspace(4000.0, 5000.0, 200)
    flat = Spectrum(wavelength_AA, np.ones(200), np.ones(200), np.zeros(200, dtype=bool))
    return picture_of(render(flat))
